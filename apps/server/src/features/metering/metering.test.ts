import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { testClock } from '../../kernel/base/clock.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, openTest, until } from '../../testing.ts';
import { setSuspended, updateAccount } from '../accounts/accounts.sql.ts';
import { checkDaily, checkPaid, endSpan, insertSpan, type SpanKind } from './index.ts';
import { bucketMs, chargeOf, freeV1Ms, freeV2Ms } from './metering.rules.ts';
import { settleAll } from './metering.settle.ts';
import { continueSpans, endSpansOf, execMsToday, holdSpans, unpaidOf } from './metering.sql.ts';

const hour = 3_600_000;
const nothing = { v1Ms: 0, v2Ms: 0, pausedByteMs: 0 };

describe('the charge of a bucket', () => {
  test('the first ten hours of v1 and five of v2 of a month are free, each apart', () => {
    assert.equal(chargeOf({ ...nothing, v1Ms: hour }, { ...nothing, v1Ms: freeV1Ms - hour, v2Ms: 0 }), 0);
    assert.equal(chargeOf({ ...nothing, v1Ms: hour }, { ...nothing, v1Ms: freeV1Ms, v2Ms: 0 }), 100_000);
    assert.equal(chargeOf({ ...nothing, v1Ms: hour }, { ...nothing, v1Ms: freeV1Ms - hour / 2, v2Ms: 0 }), 50_000);
    assert.equal(chargeOf({ ...nothing, v2Ms: hour }, { ...nothing, v1Ms: freeV1Ms, v2Ms: freeV2Ms - hour }), 0);
    assert.equal(chargeOf({ ...nothing, v2Ms: hour }, { ...nothing, v1Ms: 0, v2Ms: freeV2Ms }), 100_000);
  });

  test('a GB of snapshot costs 0.05 EUR in a month of 730 hours', () => {
    assert.equal(chargeOf({ ...nothing, pausedByteMs: 1e9 * 730 * hour }, nothing), 50_000);
  });

  test('a month costs the same however it is cut into buckets', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: bucketMs }), { maxLength: 200 }), (parts) => {
        let before = { ...nothing, v1Ms: freeV1Ms - 10 * bucketMs };
        const all = parts.reduce((sum, ms) => sum + ms, 0);
        const whole = chargeOf({ ...nothing, v1Ms: all }, before);
        let charged = 0;
        for (const v1Ms of parts) {
          charged += chargeOf({ ...nothing, v1Ms }, before);
          before = { ...before, v1Ms: before.v1Ms + v1Ms };
        }
        assert.equal(charged, whole);
      }),
    );
  });
});

describe('settlement', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:00Z'));
  const { gateway } = shared(() => openTest({ clock, settings: { SVC_BILLING: 'on' } }));

  /** An account whose free hours of both kinds are used up. */
  async function spender(microEur: number): Promise<string> {
    const { kernel } = gateway;
    const { id } = await createAccount(gateway);
    await kernel.sql`
      insert into metering.buckets
        (account_id, starts_at, v1_ms, v2_ms, paused_byte_ms, charge_micro_eur, paid_at)
      values (${id}, '2026-11-01T00:00:00Z', ${freeV1Ms}, ${freeV2Ms}, 0, 0, now())`;
    if (microEur > 0) await credit(id, microEur);
    return id;
  }
  const credit = (id: string, microEur: number) => gateway.kernel.sql`
    insert into wallet.ledger (account_id, amount_micro_eur, source_key) values (${id}, ${microEur}, ${randomUUID()})`;
  const begin = async (accountId: string, kind: SpanKind, bytes = 0): Promise<string> => {
    const id = randomUUID();
    const { sql } = gateway.kernel;
    await insertSpan(sql, clock, { id, accountId, sandboxId: randomUUID(), kind, bytes });
    return id;
  };
  const charges = async (accountId: string) =>
    (
      await gateway.kernel.sql<{ amount_micro_eur: number; source_key: string }[]>`
        select amount_micro_eur, source_key from wallet.ledger
        where account_id = ${accountId} and amount_micro_eur < 0 order by source_key`
    ).map((row) => [row.amount_micro_eur, row.source_key.split(':')[0]]);
  /** Settles until so many charges are there: the gateway's own timer may be at it and hold the account. */
  const settleTo = (accountId: string, count: number) =>
    until(async () => {
      await settleAll(gateway.kernel);
      return (await charges(accountId)).length >= count;
    });
  const end = (id: string, ms?: number) => endSpan(gateway.kernel.sql, clock, id, ms);

  test('a running sandbox is charged by the wall clock, in closed buckets only, once each', async () => {
    const account = await spender(1_000_000);
    await begin(account, 'running');
    clock.leap(25 * 60_000);
    await Promise.all([settleAll(gateway.kernel), settleAll(gateway.kernel), settleAll(gateway.kernel)]);
    await settleTo(account, 2);
    // A sixth of 0.10 EUR each, together a third: 33,333.
    assert.deepEqual(await charges(account), [
      [-16_667, 'sandbox_charge'],
      [-16_666, 'sandbox_charge'],
    ]);
  });

  test('v1 is charged by the time of its commands, however idle it was between them', async () => {
    const account = await spender(1_000_000);
    await end(await begin(account, 'exec_v1'), 36_000);
    clock.leap(30 * 60_000);
    await settleTo(account, 1);
    assert.deepEqual(await charges(account), [[-1_000, 'sandbox_charge']]);
  });

  test('a snapshot is charged with the last bucket of each hour', async () => {
    const account = await spender(1_000_000);
    await begin(account, 'paused', 730e9);
    const untilHour = hour - (clock.now() % hour);
    clock.leap(untilHour - 60_000);
    await settleAll(gateway.kernel);
    assert.deepEqual(await charges(account), []);
    clock.leap(60_000 + hour);
    await settleTo(account, 2);
    const shown = (await charges(account)).map(([amount]) => amount);
    assert.deepEqual(new Set(shown), new Set([-50_000, -Math.round((50_000 * untilHour) / hour)]));
  });

  test('a snapshot that was kept for part of an hour is charged for that part', async () => {
    const account = await spender(1_000_000);
    clock.leap(hour - (clock.now() % hour) + 5 * 60_000);
    const span = await begin(account, 'paused', 730e9);
    clock.leap(20 * 60_000);
    await end(span);
    clock.leap(hour);
    await settleTo(account, 1);
    assert.deepEqual(await charges(account), [[-Math.round(50_000 / 3), 'sandbox_charge']]);
  });

  for (const [what, stop, go] of [
    [
      'suspended',
      (id) => setSuspended(gateway.kernel.sql, id, true),
      (id) => setSuspended(gateway.kernel.sql, id, false),
    ],
    [
      'out of its subscription',
      (id) => updateAccount(gateway.kernel.sql, id, { subscription: 'inactive' }),
      (id) => updateAccount(gateway.kernel.sql, id, { subscription: 'active' }),
    ],
  ] as [string, (id: string) => Promise<unknown>, (id: string) => Promise<unknown>][]) {
    test(`a snapshot costs nothing while its account is ${what}, and never again once it is gone`, async () => {
      const { sql } = gateway.kernel;
      const account = await spender(1_000_000);
      clock.leap(hour - (clock.now() % hour));
      const [kept, dropped] = [randomUUID(), randomUUID()];
      for (const sandboxId of [kept, dropped]) {
        await insertSpan(sql, clock, { id: randomUUID(), accountId: account, sandboxId, kind: 'paused', bytes: 365e9 });
      }
      const open = async () =>
        (await sql`select 1 from metering.spans where account_id = ${account} and ended_at is null`).length;
      clock.leap(hour);
      await stop(account);
      // Turns the loop of the gateway, which looks every 5 s.
      await until(async () => {
        clock.leap(1);
        await holdSpans(sql, clock);
        return (await open()) === 0;
      });
      clock.leap(5 * hour);
      await endSpansOf(sql, clock, dropped, ['paused']);
      await go(account);
      await until(async () => {
        await continueSpans(sql, clock);
        return (await open()) === 1;
      });
      clock.leap(2 * hour);
      await endSpansOf(sql, clock, kept, ['paused']);
      assert.equal(await open(), 0);
      clock.leap(2 * hour);
      const sum = async () => (await charges(account)).reduce((all, [amount]) => all + Number(amount), 0);
      // 0.05 EUR an hour for both, then half of it for two hours; rounded by hour.
      await until(async () => {
        await settleAll(gateway.kernel);
        return (await sum()) <= -99_990;
      });
      assert.ok(Math.abs((await sum()) + 100_000) < 100, String(await sum()));
    });
  }

  test('a command is charged for its own time, known once it has ended, in whatever bucket that is', async () => {
    const account = await spender(1_000_000);
    clock.leap(bucketMs - (clock.now() % bucketMs) + 9 * 60_000);
    const span = await begin(account, 'exec_v1');
    clock.leap(15 * 60_000);
    await settleAll(gateway.kernel);
    assert.deepEqual(await charges(account), []);
    await end(span, 36_000);
    await settleTo(account, 1);
    assert.deepEqual(await charges(account), [[-1_000, 'sandbox_charge']]);
  });

  test('a bucket that the wallet cannot pay refuses work with what is owed until it can', async () => {
    const account = await spender(1_000);
    await end(await begin(account, 'exec_v1'), 360_000);
    clock.leap(20 * 60_000);
    await until(async () => {
      await settleAll(gateway.kernel);
      return (await unpaidOf(gateway.kernel.sql, account)) > 0;
    });
    await assert.rejects(checkPaid(gateway.kernel, account), (error: unknown) => {
      assert.ok(error instanceof ApiError);
      assert.equal(error.status, 402);
      const { error: told, unpaid_micro_eur } = error.envelope();
      assert.deepEqual([told.code, unpaid_micro_eur], ['insufficient_balance', 10_000]);
      return true;
    });
    await credit(account, 9_000);
    await checkPaid(gateway.kernel, account);
    await checkPaid(gateway.kernel, account);
    assert.deepEqual(await charges(account), [[-10_000, 'sandbox_charge']]);
  });

  test('commands of 7,200 s a UTC day are the limit, those that still run among them', async () => {
    const account = await spender(0);
    const first = await begin(account, 'exec_v2');
    await end(first, 7_199_000);
    await checkDaily(gateway.kernel, account);
    const running = await begin(account, 'exec_v1');
    clock.leap(1_000);
    await assert.rejects(checkDaily(gateway.kernel, account), /7200 s today/);
    await end(running, 1_000);
    await assert.rejects(checkDaily(gateway.kernel, account), { code: 'sandbox_daily_limit' });
    clock.leap(24 * hour - (clock.now() % (24 * hour)));
    await checkDaily(gateway.kernel, account);
  });

  test('a command that runs over midnight counts towards each day with what it took there', async () => {
    const account = await spender(0);
    clock.leap(24 * hour - (clock.now() % (24 * hour)) - 300_000);
    const first = await begin(account, 'exec_v1');
    clock.leap(600_000);
    const second = await begin(account, 'exec_v2');
    await end(first, 600_000);
    const { sql } = gateway.kernel;
    assert.equal(await execMsToday(sql, clock, account), 300_000);
    clock.leap(24 * hour);
    assert.equal(await execMsToday(sql, clock, account), 300_000);
    await end(second, 1_000);
    assert.equal(await execMsToday(sql, clock, account), 0);
  });
});
