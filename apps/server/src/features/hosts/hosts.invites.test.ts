import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { http, openTest } from '../../testing.ts';

test('after 100 wrong codes in a minute an address costs the database nothing, and a valid code counts a minute later', async () => {
  const clock = testClock();
  await using t = await openTest({ clock });
  const { kernel, url } = t.gateway;
  const { code } = (await http(url, '/v1/hosts/invites', { key: t.account.key, body: {} })).body;
  const redeem = (text: string) =>
    http(url, '/v1/hosts/invites/redeem', { body: { code: text, device: { id: randomUUID(), name: 'x' } } });
  for (let n = 0; n < 100; n += 1) assert.equal((await redeem('nothing')).status, 403);
  // Nothing can be begun, whatever is shown.
  const { sql } = kernel;
  await sql.begin(async (tx) => {
    await tx`lock table hosts.invites in access exclusive mode`;
    for (const text of ['nothing', code]) assert.equal((await redeem(text)).status, 429);
  });
  clock.advance(60_000);
  assert.equal((await redeem(code)).status, 201);
});
