import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { setQuota } from '../../kernel/records/quotas.ts';
import { until } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { lockDue } from '../schedules/index.ts';
import { Scheduler } from './index.ts';
import { hour, type Json, minute, newDevice, openScheduler, type SchedulerTest, second } from './scheduler.testing.ts';
import { dropUnusedSpecs, findSpec, storeSpecs, sweepSpecs } from './work/specs.sql.ts';
import { claimForHost } from './claims/claims.sql.ts';
import { trimRuns } from './scheduler.sql.ts';
import { tickChains } from './tickers/ticker.ts';

describe('scheduler: one account against the rest', () => {
  const base = shared(() => openScheduler());
  let t: SchedulerTest;
  beforeEach(async () => void (t = await base.fresh()));

  /** More schedules of the account like this one, due a second before it. */
  const copies = (schedule: { id: string }, count: number) => t.gateway.kernel.sql`
    insert into schedules.schedules (account_id, name, kind, spec, trigger, enabled, anchor_at, slots, next_run_at, created_at, updated_at)
    select account_id, name, kind, spec, trigger, true, anchor_at, slots, next_run_at - interval '1 s', created_at, updated_at
    from schedules.schedules, generate_series(1, ${count}) where id = ${schedule.id}`;

  test('what one account has due is no reason for another to wait: schedules are dealt in turn', async () => {
    const flood = await base.fresh();
    const theirs = await flood.create({ trigger: { type: 'interval', every_s: 60 } });
    const mine = await t.create({ trigger: { type: 'interval', every_s: 60 } });
    const { sql } = t.gateway.kernel;
    await sql`update schedules.schedules set next_run_at = next_run_at - interval '30 s' where id = ${theirs.id}`;
    await copies(theirs, 1_400);
    // The clock stands: nobody else finds them due.
    const now = new Date(t.clock.now() + 2 * minute).toISOString();
    const due = await inTransaction(sql, (tx) => lockDue(tx, now, 500, {}));
    assert.equal(due.length, 500);
    assert.ok(due.some(({ id }) => id === mine.id));
    await sql`delete from schedules.schedules where account_id = ${flood.account.id}`;
  });

  test('of many slots that are due at once the latest runs, and one row counts the others', async () => {
    const schedule = await t.create({ trigger: { type: 'interval', every_s: 1 }, overlap: 'kill' });
    await t.turn(40 * second, async () => (await t.runsOf(schedule)).length > 0);
    const [latest, before, ...more] = await t.runsOf(schedule);
    assert.deepEqual([latest.state, before.state, more], ['pending', 'skipped', []]);
    assert.equal(before.error, 'late: the next run stands for 39 slots');
  });

  test('an account’s timetables ask for a bounded number of runs a minute: 429 on create, on an edit, on switching on', async () => {
    await setQuota(t.gateway.kernel.sql, t.account.id, 'slots_per_minute', 100);
    const every = (every_s: number) => ({ trigger: { type: 'interval', every_s } });
    const post = (fields: Json) =>
      t.call('POST', '/v1/schedules', { name: 'x', kind: 'agent', spec: { prompt: 'x' }, ...fields });
    const first = await t.create(every(1));
    const refused = await post(every(1));
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'quota_exceeded']);
    assert.match(refused.body.error.message, /may have 100 runs a minute by the timetables.*, and has 60/);
    for (const expr of ['* * 3 * * *', '* 17 3 * * *', '* 17 3 1 1 *'])
      assert.equal(
        (await post({ trigger: { type: 'cron', expr } })).status,
        429,
        `${expr}: a burst counts by its minute`,
      );
    const slow = await t.create(every(60));
    const edit = await t.call('PATCH', `/v1/schedules/${slow.id}`, every(1));
    assert.equal(edit.status, 429);
    const off = await t.create({ ...every(1), enabled: false });
    assert.equal((await t.call('PATCH', `/v1/schedules/${off.id}`, { enabled: true })).status, 429);
    await t.call('PATCH', `/v1/schedules/${first.id}`, { enabled: false });
    assert.equal((await t.call('PATCH', `/v1/schedules/${off.id}`, { enabled: true })).status, 200);
    for (let day = 0; day < 110; day += 1) await t.create({ trigger: { type: 'cron', expr: '0 3 * * *' } });
    const { quotas } = (await t.call('GET', '/v1/usage')).body;
    const use = quotas.find(({ name }: { name: string }) => name === 'slots_per_minute');
    assert.deepEqual([use.used, use.limit], [62, 100]);
  });

  test('chains are dealt in turn too: those of one account that cannot go on hold up no other', async () => {
    const stuck = await base.fresh();
    const step = await stuck.create({ trigger: { type: 'event', trigger_id: 'x' } });
    const trigger = { type: 'event', trigger_id: 'x' };
    const chainOf = async (s: SchedulerTest, of: { id: string }) =>
      s.create({ kind: 'chain', trigger, spec: { steps: [{ schedule_id: of.id }] } });
    const theirs = await chainOf(stuck, step);
    const { sql } = t.gateway.kernel;
    await stuck.call('POST', '/v1/schedules/pause', {});
    await sql`
      insert into scheduler.runs (account_id, schedule_id, scheduled_for, origin, state, created_at, not_before, name, kind,
        spec, pool, target_type, overlap, timeout_s, retries, retry_backoff_s, started_at)
      select ${stuck.account.id}, gen_random_uuid(), now(), 'manual', 'running', 'epoch', 'epoch', 'x', 'chain',
        (select spec from schedules.schedules where id = ${theirs.id}), 'cloud', 'cloud', 'skip', 60, 0, 60, now()
      from generate_series(1, 600)`;
    const own = await t.create({ trigger });
    const chain = await chainOf(t, own);
    await t.runNow(chain);
    await tickChains(new Scheduler(t.gateway.kernel).parts);
    assert.equal((await t.runsOf(own)).length, 1);
    await sql`delete from scheduler.runs where account_id = ${stuck.account.id}`;
  });

  test('runs of an account are bounded: the oldest that are over go, what is under way stays', async () => {
    const schedule = await t.create({ trigger: { type: 'event', trigger_id: 'x' }, overlap: 'kill' });
    const other = await t.create({ trigger: { type: 'event', trigger_id: 'y' } });
    await t.runNow(other);
    for (let n = 0; n < 8; n += 1) await t.runNow(schedule);
    const before = await t.runsOf(schedule);
    assert.equal(await trimRuns(t.gateway.kernel.sql, 3, 2), 5);
    assert.deepEqual(await t.runsOf(schedule), before.slice(0, 3));
    assert.equal((await t.runsOf(other)).length, 1);
  });

  test('a long spec stands once for all runs of its schedule, is what each of them does, and goes with the last one', async () => {
    const { sql } = t.gateway.kernel;
    const stored = async (schedule: Json): Promise<number> => {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int as count from scheduler.specs where schedule_id = ${schedule.id}`;
      return row?.count ?? 0;
    };
    const [prompt, later] = ['p'.repeat(90_000), 'l'.repeat(90_000)];
    const schedule = await t.create({ spec: { prompt }, misfire: 'all_within', misfire_window_min: 600 });
    await t.turn(hour, async () => (await t.runsOf(schedule)).length >= 60);
    assert.equal(await stored(schedule), 1);
    const [size] = await sql<{ bytes: number }[]>`
      select sum(pg_column_size(r.*))::int as bytes from scheduler.runs r where schedule_id = ${schedule.id}`;
    assert.ok((size?.bytes ?? 0) < 60 * 2_048, `${size?.bytes}`);
    const device = newDevice();
    const first = await t.claim(device);
    assert.deepEqual(first.spec, { prompt });
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { spec: { prompt: later } });
    assert.equal(await stored(schedule), 2, 'one runs on with what it began, the others wait with what is said now');
    await t.result(first, device, { ok: true });
    assert.equal(await stored(schedule), 1);
    assert.deepEqual((await t.claim(device)).spec, { prompt: later });
    await t.call('DELETE', `/v1/schedules/${schedule.id}`);
    assert.equal(await stored(schedule), 0);
  });

  test('a run by hand writes nothing of a long spec that stands there already', async () => {
    const { sql } = t.gateway.kernel;
    // Noise: what repeats would be packed small.
    const prompt = randomBytes(75_000).toString('base64');
    const schedule = await t.create({ trigger: { type: 'event', trigger_id: 'x' }, overlap: 'kill', spec: { prompt } });
    const written = async (): Promise<bigint> => {
      const [row] = await sql<{ bytes: string }[]>`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`;
      return BigInt(row?.bytes ?? 0);
    };
    await t.runNow(schedule);
    // The server of all tests has one log: what others write comes to it, so that one quiet try is enough.
    await until(async () => {
      const before = await written();
      for (let n = 0; n < 20; n += 1) await t.runNow(schedule);
      return (await written()) - before < 1_000_000n;
    });
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from scheduler.specs where schedule_id = ${schedule.id}`;
    assert.equal(row?.count, 1);
  });

  test('a claim that waits for an edit to end does what the edit says', async () => {
    const { sql } = t.gateway.kernel;
    const spec = (letter: string) => ({ prompt: letter.repeat(9_000) });
    const { id } = await t.create({ trigger: { type: 'event', trigger_id: 'x' }, spec: spec('a') });
    await t.runNow({ id });
    const holderId = newDevice();
    const claim = {
      holderId,
      now: new Date(t.clock.now() + minute).toISOString(),
      leaseUntil: new Date().toISOString(),
    };
    const host = { deviceId: holderId, kinds: ['agent'], tags: [] };
    const blocked = () => sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%scheduler.runs%'`;
    const claiming = await inTransaction(sql, async (tx) => {
      const owner = { account_id: t.account.id, schedule_id: id };
      const [carried] = await storeSpecs(tx, [{ ...owner, spec: spec('b') }], claim.now);
      await tx`update scheduler.runs set spec_hash = decode(${carried?.spec_hash ?? null}, 'hex') where schedule_id = ${id}`;
      const waiting = claimForHost(sql, t.account.id, host, claim, true);
      await until(async () => (await blocked()).length > 0);
      await dropUnusedSpecs(tx, id);
      return { waiting };
    });
    const run = await claiming.waiting;
    assert.ok(run);
    assert.deepEqual(await findSpec(sql, run), spec('b'));
  });

  test('specs that nothing carries are swept after an hour', async () => {
    const { sql } = t.gateway.kernel;
    const schedule = await t.create({
      trigger: { type: 'event', trigger_id: 'x' },
      spec: { prompt: 'p'.repeat(9_000) },
    });
    await t.runNow(schedule);
    const before = (minutes: number) => sql`
      insert into scheduler.specs (account_id, schedule_id, hash, spec, used_at)
      values (${t.account.id}, ${schedule.id}, ${Buffer.from([minutes])}, '{}', now() - make_interval(mins => ${minutes}))`;
    await Promise.all([before(61), before(59)]);
    await sql`update scheduler.specs set used_at = now() - interval '2 h' where octet_length(hash) > 1`;
    await sweepSpecs(sql, new Date(Date.now() - hour).toISOString());
    const left = await sql<{ hash: Buffer }[]>`select hash from scheduler.specs where schedule_id = ${schedule.id}`;
    assert.deepEqual(new Set(left.map(({ hash }) => hash.length)), new Set([1, 32]));
  });
});
