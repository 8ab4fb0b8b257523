import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inTransaction } from '../../kernel/db/db.ts';
import { bySystem } from '../../kernel/records/audit.ts';
import { createAccount, type TestAccount, until } from '../../testing.ts';
import { meterAll } from '../environments/hours/meter.ts';
import { type EnvironmentHooks, Environments, lockEnvironment } from '../environments/index.ts';
import { type CloudTest, openClouds } from './clouds.places.testing.ts';

const minute = 60_000;
const hour = 60 * minute;
const billed = { settings: { SVC_BILLING: 'on' } } as const;
/** Nobody is idle in a day. */
const busy = { idle_timeout_minutes: 1_440 };

/** Adds to a wallet. */
async function credit(c: CloudTest, amount: number, { id }: Pick<TestAccount, 'id'> = c.t.account): Promise<void> {
  await c.t.gateway.kernel.sql`
    insert into wallet.ledger (account_id, amount_micro_eur, source_key, note)
    values (${id}, ${amount}, gen_random_uuid()::text, 'test')`;
}

/** What was taken from wallets for environments, in order. */
const charges = async (c: CloudTest) =>
  c.t.gateway.kernel.sql<{ amount: number; source_key: string }[]>`
    select -amount_micro_eur as amount, source_key from wallet.ledger
    where source_key like 'environment_charge:%' order by source_key`;

/** The hours of an environment: when, seconds, charge, whether it is paid. */
const hoursOf = async (c: CloudTest, id: string) =>
  (
    await c.t.gateway.kernel.sql<{ at: string; seconds: number; charged: number | null; paid: boolean }[]>`
      select to_char(starts_at at time zone 'UTC', 'DD HH24') as at, seconds, charged_micro_eur as charged, paid_at is not null as paid
      from environments.hours where environment_id = ${id} order by starts_at`
  ).map(({ at, seconds, charged, paid }) => [at, seconds, charged, paid]);

/** Meters with these hooks; what they were told. */
async function meter(c: CloudTest, gateway = c.t.gateway): Promise<string[]> {
  const told: string[] = [];
  const hooks: EnvironmentHooks = {
    failed: (_, { name }, { reason }) => Promise.resolve(void told.push(`failed ${name}: ${reason}`)),
    budget: (_, { name }, { percent }) => Promise.resolve(void told.push(`budget ${name}: ${percent}`)),
    stoppedIdle: (_, { name }, { idleMinutes }) => Promise.resolve(void told.push(`idle ${name}: ${idleMinutes}`)),
    over: () => Promise.resolve(),
  };
  await meterAll(gateway.kernel, new Environments(gateway.kernel, hooks));
  return told;
}

/** A running environment, whose clock is turned by one leap from then on: the loops of the gateway stand still meanwhile. */
async function running(c: CloudTest, fields: object = {}, by?: TestAccount): Promise<string> {
  const id = await c.make({ ...busy, ...fields }, by);
  await c.turn();
  await c.run(id);
  return id;
}

describe('hours of machines at a provider', () => {
  test('time that runs is counted by the second, and each hour is charged once when it is over', async () => {
    await using c = await openClouds(billed);
    await credit(c, 1_000_000);
    const id = await running(c);
    // It began at 9:00:12.
    c.clock.advance(90 * minute);
    await until(async () => (await hoursOf(c, id))[0]?.[3] === true);
    await c.act(id, 'stop');
    const [nine, ten] = await hoursOf(c, id);
    assert.deepEqual([nine?.[0], nine?.[3], ten?.[0], ten?.[2]], ['02 09', true, '02 10', null]);
    assert.equal(Number(nine?.[1]) + Number(ten?.[1]), 90 * 60);
    assert.equal(nine?.[2], Math.round((Number(nine?.[1]) * 30_000) / 3_600));
    c.clock.advance(30 * minute);
    await Promise.all([meter(c), meter(c)]);
    await until(async () => {
      await meter(c);
      return (await hoursOf(c, id)).every(([, , charged]) => charged !== null);
    });
    assert.deepEqual(
      (await hoursOf(c, id)).map(([, , charged]) => charged),
      (await charges(c)).map(({ amount }) => amount),
    );
    const keys = (await charges(c)).map(({ source_key: key }) => key);
    assert.deepEqual(
      keys,
      ['09', '10'].map((at) => `environment_charge:${id}:2026-11-02T${at}:00:00.000Z`),
    );
  });

  test('of two gateways one counts and charges, and what died between charge and write is charged once', async () => {
    await using c = await openClouds({ ...billed, gateways: 2 });
    await credit(c, 1_000_000);
    const id = await running(c, { budget_micro_eur: 1 });
    const { kernel } = c.t.gateway;
    c.clock.leap(hour);
    const dies = new Environments(kernel, {
      failed: () => Promise.resolve(),
      budget: () => Promise.reject(new Error('the process died')),
      stoppedIdle: () => Promise.resolve(),
      over: () => Promise.resolve(),
    });
    await meterAll({ ...kernel, log: { ...kernel.log, error: () => {} } as never }, dies);
    await Promise.all([meter(c), meter(c, c.t.second), meter(c), meter(c, c.t.second)]);
    await until(async () => (await c.see(id))['state'] === 'stopping');
    await c.turn(hour);
    await until(async () => {
      await meter(c);
      return (await hoursOf(c, id)).every(([, , charged]) => charged !== null);
    });
    const all = await charges(c);
    assert.equal(new Set(all.map(({ source_key: key }) => key)).size, all.length);
    const seconds = (await hoursOf(c, id)).reduce((sum, [, each]) => sum + Number(each), 0);
    assert.ok(seconds >= 3_600 && seconds < 3_700, String(seconds));
    const paid = all.reduce((sum, { amount }) => sum + amount, 0);
    assert.ok(Math.abs(paid - (seconds * 30_000) / 3_600) <= all.length);
  });

  test('a budget is told of at 80 and 100 percent, once a month each; the machine stops, and starts again next month', async () => {
    await using c = await openClouds();
    const id = await running(c, { budget_micro_eur: 30_000, name: 'B' });
    const runFor = (minutes: number) => c.t.gateway.kernel.sql`
      update environments.meters set counted_until = counted_until - make_interval(mins => ${minutes})`;
    await runFor(47);
    assert.deepEqual(await meter(c), []);
    await runFor(1);
    assert.deepEqual(await meter(c), ['budget B: 80']);
    await runFor(11);
    assert.deepEqual(await meter(c), []);
    assert.equal((await c.see(id))['state'], 'running');
    await runFor(1);
    assert.deepEqual(await meter(c), ['budget B: 100']);
    const { state, stateReason } = await c.see(id);
    assert.deepEqual([state, stateReason], ['stopping', 'budget']);
    await c.turn();
    c.fake.settle();
    await c.turn(10_000);
    const refused = await c.ask('POST', `/v1/environments/${id}/start`);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'invalid_transition']);
    assert.match(refused.body.error.message, /budget/);
    c.clock.leap(Date.parse('2026-12-01T00:00:01Z') - c.clock.now());
    await c.act(id, 'start');
    const [meters] = await c.t.gateway.kernel.sql`select told_month, told_percent from environments.meters`;
    assert.deepEqual({ ...meters }, { told_month: '2026-11', told_percent: 100 });
  });

  test('an empty wallet stops the machine, and what is owed is paid before anything is made or started', async () => {
    await using c = await openClouds(billed);
    const other = await createAccount(c.t.gateway);
    const none = await c.ask('POST', '/v1/environments', {
      project_id: (await c.ask('POST', '/v1/projects', { name: 'P' })).body.project.id,
      provider: 'managed_b',
      name: 'x',
    });
    assert.deepEqual([none.status, none.body.error.code, none.body.unpaid_micro_eur], [402, 'insufficient_balance', 0]);
    await credit(c, 30_000);
    await credit(c, 1_000_000, other);
    const id = await running(c);
    const others = await c.make(busy, other);
    await c.turn();
    await c.run(others);
    // Something else took what was there.
    await credit(c, -25_000);
    c.clock.leap(30 * minute);
    await until(async () => (await c.see(id))['state'] === 'stopping');
    const { state, stateReason } = await c.see(id);
    assert.deepEqual([state, stateReason], ['stopping', 'insufficient_balance']);
    const seen = (await c.ask('GET', `/v1/environments/${others}`, undefined, other)).body.environment;
    assert.equal(seen.state, 'running');
    await c.turn();
    c.fake.settle();
    await c.turn(hour);
    // A loop that met the row locked comes again a minute later, by a clock that stands still.
    await until(async () => {
      await meter(c);
      return (await hoursOf(c, id))[0]?.[2] !== null;
    });
    const owed = Number((await hoursOf(c, id))[0]?.[2]);
    assert.deepEqual((await hoursOf(c, id))[0]?.[3], false);
    assert.equal((await c.see(id))['state'], 'stopped');
    const start = () => c.ask('POST', `/v1/environments/${id}/start`);
    const refused = await start();
    assert.deepEqual([refused.status, refused.body.unpaid_micro_eur], [402, owed]);
    await credit(c, owed);
    // It is paid, and no hour is there.
    assert.deepEqual([(await start()).body.unpaid_micro_eur, (await hoursOf(c, id))[0]?.[3]], [0, false]);
    await credit(c, 30_000);
    assert.equal((await start()).status, 200);
    assert.equal((await hoursOf(c, id))[0]?.[3], true);
  });

  test('a machine on which nobody works is stopped after its idle time, and not while somebody does', async () => {
    await using c = await openClouds();
    const id = await running(c, { idle_timeout_minutes: 30, name: 'I' });
    c.clock.leap(29 * minute);
    assert.deepEqual(await meter(c), []);
    await c.t.gateway.kernel.sql`
      update environments.environments set last_activity_at = ${c.clock.instant()} where id = ${id}`;
    c.clock.leap(29 * minute);
    assert.deepEqual(await meter(c), []);
    assert.equal((await c.see(id))['state'], 'running');
    await c.t.gateway.kernel.sql`
      update environments.environments set last_activity_at = ${c.clock.instant()}::timestamptz - interval '31 minutes'
      where id = ${id}`;
    assert.deepEqual(await meter(c), ['idle I: 31']);
    const { state, stateReason } = await c.see(id);
    assert.deepEqual([state, stateReason], ['stopping', 'idle']);
    assert.deepEqual(await meter(c), []);
  });

  test('a failure is told in its transaction, with the reason', async () => {
    await using c = await openClouds();
    const id = await running(c);
    const { kernel } = c.t.gateway;
    const told: unknown[] = [];
    const nothing = () => Promise.resolve();
    const failed: EnvironmentHooks['failed'] = async (db, row, details) => {
      const [seen] = await db`select state from environments.environments where id = ${row.id}`;
      told.push([row.id, seen?.['state'], details.reason]);
    };
    const environments = new Environments(kernel, { failed, budget: nothing, stoppedIdle: nothing, over: nothing });
    await inTransaction(kernel.sql, async (tx) => {
      const row = (await lockEnvironment(tx, id)) ?? assert.fail();
      await environments.move(tx, row, 'fail', { reason: 'no' }, { accountId: null, kind: 'system', by: bySystem });
    });
    assert.deepEqual(told, [[id, 'failed', 'no']]);
  });

  test('a machine of an account that is suspended is stopped', async () => {
    await using c = await openClouds();
    const id = await running(c);
    await c.t.gateway.kernel.sql`update accounts.accounts set suspended_at = now() where id = ${c.t.account.id}`;
    await until(async () => {
      await meter(c);
      return (
        (await c.t.gateway.kernel.sql`select from environments.environments where state = 'stopping'`).length === 1
      );
    });
    const [row] = await c.t.gateway.kernel.sql`
      select state, state_reason from environments.environments where id = ${id}`;
    assert.deepEqual({ ...row }, { state: 'stopping', state_reason: 'account_suspended' });
  });

  test('hours that are included cost nothing, and are counted by month', async () => {
    await using c = await openClouds({ settings: { SVC_BILLING: 'on', SVC_ENVIRONMENT_INCLUDED_HOURS: '1' } });
    await credit(c, 60_000);
    const id = await running(c);
    c.clock.advance(2 * hour);
    await c.act(id, 'stop');
    c.clock.advance(hour);
    await until(async () => {
      await meter(c);
      return (await hoursOf(c, id)).every(([, , charged]) => charged !== null);
    });
    const seconds = (await hoursOf(c, id)).reduce((sum, [, each]) => sum + Number(each), 0);
    const charged = (await charges(c)).reduce((sum, { amount }) => sum + amount, 0);
    assert.ok(Math.abs(charged - ((seconds - 3_600) * 30_000) / 3_600) <= 2, `${charged} for ${seconds}`);
    assert.equal((await c.see(id))['includedHoursUsedSeconds'], 3_600);
  });
});
