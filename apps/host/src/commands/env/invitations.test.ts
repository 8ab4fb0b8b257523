import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startCommand, temporaryDirectory } from '../../testing.ts';
import { answer, fakeGateway, refuse, testKey } from '../../testing.gateway.ts';

test('an invitation is shown without what moves the cursor, accepted by its id, with its role where that is owner, and declined by the one who is invited', async (context) => {
  const gateway = await fakeGateway(context);
  const [id, me, other] = [randomUUID(), randomUUID(), randomUUID()];
  const asked: string[] = [];
  let invitedAs = 'developer';
  gateway.intercept = (request, response) => {
    const path = `${request.method} ${(request.url ?? '').replace(id, 'ID').replace(me, 'ME')}`;
    asked.push(path);
    if (path === 'GET /v1/environments/invitations')
      answer(response, 200, {
        invitations: [
          {
            user_id: me,
            environment_id: id,
            environment_name: 'a\u001b[2Jb',
            role: invitedAs,
            invited_by: { user_id: other, email: 'mihai@example.com' },
            created_at: '2026-11-02T09:00:00.000Z',
          },
        ],
      });
    else if (path === 'POST /v1/environments/ID/members/me/accept')
      answer(response, 200, { member: { user_id: me, role: invitedAs } });
    else if (path === 'DELETE /v1/environments/ID/members/ME') answer(response, 200, { deleted: true, user_id: me });
    else refuse(response, 403, 'forbidden');
    return true;
  };
  const stateDir = await temporaryDirectory(context);
  const run = async (...words: string[]) => {
    const command = startCommand(
      context,
      [...words, '--state-dir', stateDir, '--url', gateway.url],
      { SVC_API_KEY: testKey },
      'env',
    );
    return { code: await command.ended, out: command.stdout(), said: command.stderr() };
  };
  const list = await run('invitations');
  assert.equal(list.code, 0, list.said);
  assert.match(list.out, new RegExp(`mihai@example.com +developer +a.*b +${id}`));
  assert.ok(!list.out.includes('\u001b'));
  assert.equal((await run('accept', id)).said, 'svc: you are developer there: svc env list\n');
  assert.equal((await run('decline', id)).said, 'svc: declined; they are not told\n');
  assert.deepEqual(asked.slice(-1), ['DELETE /v1/environments/ID/members/ME']);
  const none = await run('decline', other);
  assert.deepEqual([none.code, none.said], [1, `svc: nobody invites you to ${other}: see svc env invitations\n`]);
  assert.equal((await run('accept', 'shop')).code, 1);
  assert.match((await run('accept', id, '--role', 'viewer')).said, /they invite you as developer, not as viewer/);
  invitedAs = 'owner';
  const before = asked.length;
  assert.match((await run('accept', id)).said, /with its costs; to agree: svc env accept \S+ --role owner/);
  assert.deepEqual(asked.slice(before), ['GET /v1/environments/invitations']);
  assert.equal((await run('accept', id, '--role', 'owner')).said, 'svc: you are owner there: svc env list\n');
});
