import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startCommand, temporaryDirectory } from '../../testing.ts';
import { answer, fakeGateway, refuse, testKey } from '../../testing.gateway.ts';

test('ssh-config names no host by a slug alone, and without names only what the caller owns or took up', async (context) => {
  const gateway = await fakeGateway(context);
  const [caller, other] = [randomUUID(), randomUUID()];
  const member = (user_id: string, ssh_public_key: boolean) => ({
    user_id,
    ssh_public_key,
    linux_username: 'ana',
    provisioned_at: null,
  });
  const environments = [
    { slug: 'shop-ab12', ownerUserId: caller, members: [member(caller, false)] },
    { slug: 'taken-up', ownerUserId: other, members: [member(caller, true)] },
    { slug: 'of-the-firm', ownerUserId: other, members: [member(other, false)] },
    { slug: 'nas', ownerUserId: other, members: [member(caller, false)] },
  ].map((one) => ({ ...one, id: randomUUID(), provider: 'byo', state: 'running', stateReason: null }));
  gateway.intercept = (request, response) => {
    const path = (request.url ?? '').replace(/\?.*/, '');
    const found = environments.find(({ id }) => path === `/v1/environments/${id}`);
    if (path === '/v1/environments') answer(response, 200, { environments, next_cursor: null });
    else if (found)
      answer(response, 200, { environment: found, members: found.members, ports: [], events: [], user_id: caller });
    else refuse(response, 404, 'not_found');
    return true;
  };
  const stateDir = await temporaryDirectory(context);
  const print = async (...words: string[]) => {
    const given = ['ssh-config', ...words, '--state-dir', stateDir, '--url', gateway.url];
    const command = startCommand(context, given, { SVC_API_KEY: testKey }, 'env');
    assert.equal(await command.ended, 0, command.stderr());
    const hosts = [...command.stdout().matchAll(/^Host (.*)$/gm)].map(([, names]) => names);
    return { hosts, text: command.stdout(), said: command.stderr() };
  };
  const all = await print();
  assert.deepEqual(all.hosts, ['svc-shop-ab12', 'svc-taken-up', 'svc-of-the-firm']);
  assert.match(all.said, /left out.*: nas;/);
  // Whoever takes a slug later is not reached by it.
  for (const { id, slug } of environments.slice(0, 3))
    assert.match(all.text, new RegExp(`^Host svc-${slug}\n  HostKeyAlias svc-${id}\n.*ProxyCommand .* ${id} 22$`, 'm'));
  assert.deepEqual((await print('nas')).hosts, ['svc-nas']);
});
