import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startCommand, temporaryDirectory } from '../../testing.ts';
import { answer, fakeGateway, refuse, testKey } from '../../testing.gateway.ts';

const url = 'http://3000--shop-ab12.localhost:8790/?svc_ticket=EXAMPLE&b=c';

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
    else if (path === '/v1/environments/ID/ports/3000/link') answer(response, 201, { url, expires_at: null });
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
      // A test puts its browser there.
      { SVC_API_KEY: testKey, PATH: `${stateDir}:/usr/bin:/bin` },
      'env',
    );
  return { open, asked, stateDir };
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

test('open gives the address to the browser whole, and prints it where there is none', async (context) => {
  if (process.platform !== 'linux') return context.skip('the browser of another system is not asked for by xdg-open');
  const s = await setUp(context, 'running');
  const browser = join(s.stateDir, 'xdg-open');
  await writeFile(browser, `#!/bin/sh\nprintf '%s' "$*" > '${s.stateDir}/opened'\n`, { mode: 0o700 });
  const opened = s.open('shop-ab12', '3000', '--browser');
  assert.equal(await opened.ended, 0, opened.stderr());
  assert.equal(opened.stdout(), '');
  assert.equal(await readFile(join(s.stateDir, 'opened'), 'utf8'), url);
  await writeFile(browser, '#!/bin/sh\nexit 3\n', { mode: 0o700 });
  const printed = s.open('shop-ab12', '3000', '--browser');
  assert.equal(await printed.ended, 0, printed.stderr());
  assert.equal(printed.stdout(), `${url}\n`);
});
