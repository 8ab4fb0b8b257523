import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';

describe('requests of an account', () => {
  const { gateway } = shared(() => openTest({ clock: testClock(Date.parse('2026-11-20T12:00:00Z')) }));
  let account: TestAccount;
  beforeEach(async () => {
    account = await createAccount(gateway);
  });
  interface Seen {
    at?: string;
    route?: string;
    key?: string;
    device?: string | null;
    status?: number;
    ms?: number;
    cost?: number;
  }
  const see = async ({ at = '2026-11-19T10:00:00Z', route = 'keys.list', ...rest }: Seen, of = account) => {
    const { key = of.keyId, device = null, status = 200, ms = 1, cost = 0 } = rest;
    await gateway.kernel.sql`
      insert into kernel.usage_records
        (at, account_id, key_id, device_id, route, status, bytes, ms, cost_micro_usd, trace_id)
      values (${at}, ${of.id}, ${key}, ${device}, ${route}, ${status}, 10, ${ms}, ${cost}, 'x')`;
  };
  const count = (minute: string, route: string, requests: number) => gateway.kernel.sql`
    insert into kernel.usage_counts (minute, account_id, key_id, route, status, requests, bytes, ms)
    values (${minute}, ${account.id}, ${account.keyId}, ${route}, 200, ${requests}, 5, 5)`;
  const ask = (query: string) => http(gateway.url, `/v1/usage/requests?${query}`, { key: account.key });
  const groups = async (query: string) =>
    (await ask(query)).body.usage.map(({ group, requests }: { group: string; requests: number }) => [group, requests]);

  test('are put together by day, feature, key and device, those among them that were only counted', async () => {
    const [other, device] = [randomUUID(), randomUUID()];
    await see({ at: '2026-11-18T23:59:59.999Z', device });
    await see({ at: '2026-11-19T00:00:00Z', route: 'sandboxes.exec', ms: 2_500, status: 409 });
    await see({ key: other, route: 'chat.completions', cost: 70 });
    await count('2026-11-19T10:01:00Z', 'keys.list', 500);
    await count('2026-11-19T10:01:00Z', '*', 3);
    await see({}, await createAccount(gateway));
    const { body } = await ask('by=day');
    assert.deepEqual(body.usage, [
      { group: '2026-11-19', requests: 505, errors: 1, bytes: 30, cost_micro_usd: 70, exec_seconds: 2 },
      { group: '2026-11-18', requests: 1, errors: 0, bytes: 10, cost_micro_usd: 0, exec_seconds: 0 },
    ]);
    assert.deepEqual(await groups('by=feature'), [
      ['keys', 501],
      ['other', 3],
      ['chat', 1],
      ['sandboxes', 1],
    ]);
    assert.deepEqual(await groups('by=key'), [
      [account.keyId, 505],
      [other, 1],
    ]);
    assert.deepEqual(await groups('by=device'), [
      ['none', 505],
      [device, 1],
    ]);
  });

  test('are those of the span: its beginning counts, its end does not', async () => {
    for (const at of ['2026-11-10T00:00:00Z', '2026-11-11T00:00:00Z', '2026-11-12T00:00:00Z']) await see({ at });
    assert.deepEqual(await groups('from=2026-11-10T00:00:00Z&to=2026-11-12T00:00:00Z'), [
      ['2026-11-11', 1],
      ['2026-11-10', 1],
    ]);
    assert.deepEqual(await groups('from=2026-11-12T02:00:00%2B02:00'), [['2026-11-12', 1]], 'an instant of any zone');
    for (const query of [
      'from=2026-11-12T00:00:00Z&to=2026-11-12T00:00:00Z',
      'from=2026-08-01T00:00:00Z&to=2026-11-12T00:00:00Z',
      'from=yesterday',
      'by=hour',
    ])
      assert.equal((await ask(query)).status, 400, query);
  });

  test('have a thousand groups at most, those with most requests', async () => {
    await gateway.kernel.sql`
      insert into kernel.usage_counts (minute, account_id, key_id, route, status, requests, bytes, ms)
      select '2026-11-19T10:00:00Z', ${account.id}, gen_random_uuid(), 'keys.list', 200, n, 1, 1
      from generate_series(1, 1200) n`;
    const all = await groups('by=key');
    assert.deepEqual([all.length, all[0][1], all.at(-1)[1]], [1_000, 1_200, 201]);
  });
});
