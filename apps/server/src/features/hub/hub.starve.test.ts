import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { openPlatform } from '../auth/auth.testing.ts';

test('a code that a stranger brings back to the hub is counted for the stranger, and not for all', async () => {
  await using t = await openPlatform();
  const open = async (path: string, cookie = '') => {
    const headers = { host: `localhost:${t.port}`, cookie };
    const sent = request({ host: '127.0.0.1', port: t.port, localAddress: '127.0.0.7', path, headers }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    return answer;
  };
  const begun = await open('/hub/login/start');
  const state = new URL(begun.headers.location ?? '').searchParams.get('state') ?? '';
  const [cookie = ''] = (begun.headers['set-cookie'] ?? []).map((line) => line.split(';')[0] ?? '');
  const iss = encodeURIComponent(`http://localhost:${t.port}/auth`);
  assert.equal((await open(`/hub/callback?code=none&state=${state}&iss=${iss}`, cookie)).statusCode, 400);
  const rows = await t.gateway.kernel.sql<{ subject: string }[]>`
    select subject from kernel.rate_windows where name = 'auth'`;
  assert.deepEqual(
    rows.map(({ subject }) => subject),
    ['127.0.0.7'],
  );
});

test('a body without an end, which nobody asked for, is cut off', async () => {
  await using t = await openPlatform();
  const piece = Buffer.alloc(1_048_576);
  for (const path of ['/auth/link', '/auth/jwks', '/hub/']) {
    const sent = request({
      host: '127.0.0.1',
      port: t.port,
      path,
      method: 'POST',
      headers: { host: `localhost:${t.port}` },
    });
    sent.on('error', () => {}).on('response', (answer: IncomingMessage) => answer.resume().on('error', () => {}));
    // Its error comes first.
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    sent.once('close', resolve);
    const write = (): void => void (sent.destroyed || sent.write(piece, () => setImmediate(write)));
    write();
    await closed;
  }
});
