import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { startCommand, temporaryDirectory } from '../../testing.ts';
import { answer, fakeGateway, refuse, testKey } from '../../testing.gateway.ts';

/** An environment at a provider, as a gateway tells it: `move` decides what its state is after each look at it. */
async function setUp(context: TestContext, state: string, move: (state: string) => string = (same) => same) {
  const gateway = await fakeGateway(context);
  const id = randomUUID();
  const machine = { id, slug: 'shop-ab12', provider: 'managed_b', stateReason: null };
  const asked: string[] = [];
  let now = state;
  gateway.intercept = (request, response) => {
    const path = (request.url ?? '').replace(id, 'ID').replace(/\?.*/, '');
    asked.push(`${request.method} ${path}`);
    if (path === '/v1/environments')
      answer(response, 200, { environments: [{ ...machine, state: now }], next_cursor: null });
    else if (path === '/v1/environments/ID') answer(response, 200, { environment: { ...machine, state: now } });
    else if (path === '/relay/v1/environments/ID/status') {
      answer(response, 200, { online: now === 'running', usable: now === 'running' });
      now = move(now);
    } else if (path === '/v1/environments/ID/ports') answer(response, 200, { ports: [] });
    else if (path === '/v1/environments/ID/start' && now === 'stopped') {
      now = 'starting';
      answer(response, 200, {});
    } else refuse(response, 403, 'forbidden');
    return true;
  };
  const stateDir = await temporaryDirectory(context);
  const open = (...words: string[]) =>
    startCommand(
      context,
      ['open', ...words, '--state-dir', stateDir, '--url', gateway.url],
      { SVC_API_KEY: testKey },
      'env',
    );
  return { open, asked };
}

test('open starts a machine that stands still, once, and says how far it is', async (context) => {
  const s = await setUp(context, 'stopped', (state) => (state === 'starting' ? 'running' : state));
  const opened = s.open('shop-ab12');
  assert.equal(await opened.ended, 0, opened.stderr());
  assert.equal(s.asked.filter((one) => one === 'POST /v1/environments/ID/start').length, 1);
  assert.match(opened.stderr(), /it stands still; starting it\n(svc: .+\n)*svc: shop-ab12 is usable; no port/);
});

test('open ends with a sentence where no machine will come, and where the role does not allow to start it', async (context) => {
  const archived = (await setUp(context, 'archived')).open('shop-ab12');
  assert.equal(await archived.ended, 1);
  assert.equal(archived.stderr(), 'svc: shop-ab12: it was put aside: enrol a machine in it again\n');
  const s = await setUp(context, 'stopped', () => 'stopping');
  // The gateway of this test refuses to start what is not stopped any more.
  const refused = s.open('shop-ab12');
  assert.equal(await refused.ended, 1);
  assert.match(refused.stderr(), /svc: shop-ab12: 403 forbidden: refused by the test\n$/);
});
