import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testClock } from '../base/clock.ts';
import { http, openTest, until } from '../../testing.ts';

test('a gateway that did not acknowledge an announcement forgets its keys at its next renewal', async () => {
  // Its time stands still: it neither renews its lease nor doubts its cache by itself.
  const clock = testClock();
  await using t = await openTest({ clock });
  const { gateway, account } = t;
  const { sql, gateways } = gateway.kernel;
  const status = async () => (await http(gateway.url, '/v1/devices', { key: account.key })).status;
  await until(() => gateways.cachesAreTrusted());
  assert.equal(await status(), 200);
  // As a gateway whose own bus is broken leaves it: the key is revoked, and nobody was told.
  await sql`update keys.keys set status = 'revoked' where id = ${account.keyId}`;
  assert.equal(await status(), 200, 'the cache still believes it');
  await sql`update kernel.gateways set missed = true where id = ${gateways.id}`;
  clock.advance(2_000);
  await until(async () => (await status()) === 401);
});
