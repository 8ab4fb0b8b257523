import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { before, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { type Json, newDevice, type SchedulerTest, schedulerTest, second } from './scheduler.testing.ts';
import { openTest, createAccount, http } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { Scheduler } from './index.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { tickRuns, tickSchedules } from './tickers/ticker.ts';

/** A small generator with a fixed seed (mulberry32). */
function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let r = Math.imul(a ^ (a >>> 15), 1 | a);
    r = (r + Math.imul(r ^ (r >>> 7), 61 | r)) ^ r;
    return ((r ^ (r >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const actions = ['beat1', 'beat2', 'ok1', 'fail1', 'ok2', 'fail2', 'expire', 'cancel', 'claim2'] as const;
type Action = (typeof actions)[number];
const finals = ['succeeded', 'failed', 'timed_out', 'skipped', 'cancelled', 'expired'];

/** A run as the design's table alone describes it. */
class Model {
  state = 'running';
  attempt = 1;
  holder: 1 | 2 | 0 = 1;
  retriesUsed = 0;
  lost = 0;
  /** Whose process of a cancelled attempt may live. */
  ending: 1 | 2 | 0 = 0;
  /** Attempts whose result was taken; attempt 1 is host 1's, attempt 2 host 2's. */
  readonly accepted = new Set<1 | 2>();
  readonly retries: number;

  constructor(retries: number) {
    this.retries = retries;
  }

  /** Answers what the API must. */
  do(action: Action): string {
    if (action === 'beat1') return this.#beat(1);
    if (action === 'beat2') return this.#beat(2);
    if (action === 'expire') return this.#expire();
    if (action === 'cancel') {
      if (finals.includes(this.state)) return '409';
      if (this.state === 'running' && this.attempt === this.holder) this.ending = this.holder;
      this.state = 'cancelled';
      return '200';
    }
    if (action === 'claim2') {
      if (this.state !== 'pending') return 'null';
      Object.assign(this, { state: 'running', holder: 2 });
      return `${this.attempt}`;
    }
    return this.#result(action.endsWith('1') ? 1 : 2, action.startsWith('ok'));
  }

  #beat(host: 1 | 2): string {
    if (this.holder !== host || this.attempt !== host) return '409';
    return this.state === 'running' ? '200 false' : this.state === 'cancelled' ? '200 true' : '409';
  }

  #result(host: 1 | 2, ok: boolean): string {
    // It says that the process of the cancelled attempt is gone.
    if (this.state === 'cancelled' && this.ending === host) {
      this.ending = 0;
      this.accepted.add(host);
      return '200';
    }
    if (this.state !== 'running' || this.holder !== host || this.attempt !== host) {
      return this.accepted.has(host) ? '200' : '409';
    }
    this.accepted.add(host);
    this.holder = 0;
    if (ok) this.state = 'succeeded';
    else if (this.retriesUsed < this.retries) {
      this.retriesUsed += 1;
      this.attempt += 1;
      this.state = 'pending';
    } else this.state = 'failed';
    return '200';
  }

  #expire(): string {
    if (this.state !== 'running') return '';
    this.lost += 1;
    this.holder = 0;
    if (this.lost > 3) this.state = 'failed';
    else {
      this.state = 'pending';
      this.attempt += 1;
    }
    return '';
  }
}

/** `SVC_TEST_SEQUENCES=all` for all of them; else every sixth, beginning with another one each time. */
const every = process.env['SVC_TEST_SEQUENCES'] === 'all' ? 1 : 6;

describe('scheduler: runs against a model', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:10Z'));
  let parts: SchedulerParts[];
  const logged: string[] = [];
  const log = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk));
      done();
    },
  });

  const {
    database,
    gateway: one,
    second: two,
  } = shared(() => openTest({ gateways: 2, clock, log, settings: { SVC_RATE_REQUESTS: '1000000' } }));
  before(() => {
    parts = [new Scheduler(one.kernel).parts, new Scheduler(two.kernel).parts];
  });
  const open = async (): Promise<SchedulerTest> => schedulerTest(database, one, clock, await createAccount(one));
  const expire = (runIds: string[]) => one.kernel.sql`
    update scheduler.runs set lease_expires_at = ${clock.instant() as string}
    where id = any(${runIds}::uuid[]) and state = 'running'`;

  interface Case {
    id: string;
    schedule: Json;
    run: Json;
    devices: [string, string];
  }

  /** Schedules with one run each, held by its first device with attempt 1. */
  async function begin(t: SchedulerTest, names: string[], retries: (index: number) => number): Promise<Case[]> {
    const event = `e${Math.random()}`;
    const schedules = await Promise.all(
      names.map((name, i) =>
        t.create({
          name,
          trigger: { type: 'event', trigger_id: event },
          target: { type: 'tags', tags: [name] },
          retries: retries(i),
          retry_backoff_s: 1,
          late_after_s: 0,
        }),
      ),
    );
    assert.equal((await t.call('POST', `/v1/triggers/${event}/fire`)).body.queued, names.length);
    return Promise.all(
      schedules.map(async (schedule, i): Promise<Case> => {
        const devices: [string, string] = [newDevice(), newDevice()];
        const run = await t.claim(devices[0], { tags: [names[i]] });
        assert.equal(run.schedule_id, schedule.id);
        return { id: names[i] as string, schedule, run, devices };
      }),
    );
  }

  async function act(
    t: SchedulerTest,
    { id, run, devices }: Case,
    action: Action,
    url = one.url,
  ): Promise<{ said: string; body: Json; status: number }> {
    const send = (path: string, body: Json, device?: string) =>
      http(url, path, {
        method: 'POST',
        key: t.account.key,
        body,
        ...(device && { headers: { 'x-svc-device': device } }),
      });
    const path = `/v1/schedule-runs/${run.id}`;
    const host = action.endsWith('2') ? 2 : 1;
    const device = devices[host - 1] as string;
    if (action.startsWith('beat')) {
      const { status, body } = await send(`${path}/heartbeat`, { attempt: host }, device);
      return { status, body, said: status === 200 ? `200 ${body.cancel}` : `${status}` };
    }
    if (action === 'cancel') {
      const { status, body } = await send(`${path}/cancel`, {});
      return { status, body, said: `${status}` };
    }
    if (action === 'claim2') {
      const { status, body } = await send('/v1/scheduler/claim', { tags: [id] }, device);
      return { status, body, said: body.run ? `${body.run.attempt}` : 'null' };
    }
    const { status, body } = await send(`${path}/result`, { attempt: host, ok: action.startsWith('ok') }, device);
    return { status, body, said: `${status}` };
  }

  test('every sequence of three actions, each led on by three random ones, does what the table says', async () => {
    const t = await open();
    const next = random(20_261_123);
    const all: Action[][] = [];
    for (const a of actions)
      for (const b of actions)
        for (const c of actions) {
          const tail = Array.from({ length: 3 }, () => actions[Math.floor(next() * actions.length)] as Action);
          all.push([a, b, c, ...tail]);
        }
    const first = Date.now() % every;
    const sequences = all.filter((_, n) => n % every === first);
    const wrong: string[] = [];
    for (let from = 0; from < sequences.length; from += 100) {
      const batch = sequences.slice(from, from + 100);
      const cases = await begin(
        t,
        batch.map((_, i) => `s${from + i}`),
        (i) => (from + i) % 2,
      );
      const models = batch.map((_, i) => new Model((from + i) % 2));
      for (let step = 0; step < 6; step += 1) {
        const expected = batch.map((sequence, i) => (models[i] as Model).do(sequence[step] as Action));
        const expiring = cases.filter((_, i) => batch[i]?.[step] === 'expire').map(({ run }) => run.id);
        await expire(expiring);
        await tickRuns(parts[0] as SchedulerParts);
        const said = await Promise.all(
          cases.map(async (each, i) => {
            const action = batch[i]?.[step] as Action;
            return action === 'expire' ? '' : (await act(t, each, action, step % 2 ? one.url : two.url)).said;
          }),
        );
        const rows = new Map(
          (
            await one.kernel.sql<Json[]>`
              select r.*, s.failures, s.enabled from scheduler.runs r join schedules.schedules s on s.id = r.schedule_id
              where r.id = any(${cases.map(({ run }) => run.id)}::uuid[])`
          ).map((row) => [row.id, row]),
        );
        for (const [i, each] of cases.entries()) {
          const row = rows.get(each.run.id);
          const model = models[i] as Model;
          const held = row.holder_id === null ? 0 : row.holder_id === each.devices[0] ? 1 : 2;
          const got = [said[i], row.state, row.attempt, held, row.failures, row.finished_at !== null].join();
          const want = [
            expected[i],
            model.state,
            model.attempt,
            model.holder,
            Number(model.state === 'failed'),
            finals.includes(model.state),
          ].join();
          if (got !== want)
            wrong.push(`${batch[i]?.slice(0, step + 1).join(' ')} (retries ${model.retries}): ${got}, not ${want}`);
        }
        clock.leap(second);
      }
      await one.kernel.sql`delete from schedules.schedules where account_id = ${t.account.id}`;
      await one.kernel.sql`delete from scheduler.runs where account_id = ${t.account.id}`;
    }
    assert.deepEqual(wrong.slice(0, 20), []);
  });

  test('the same at once from two gateways: one end of every attempt, final states stay, nothing breaks', async () => {
    const t = await open();
    const next = random(7);
    const statuses = new Map<number, number>();
    logged.length = 0;
    const ended = new Map<string, string>();
    for (let round = 0; round < 3; round += 1) {
      const cases = await begin(
        t,
        Array.from({ length: 40 }, (_, i) => `r${round}-${i}`),
        (i) => i % 3,
      );
      for (let wave = 0; wave < 4; wave += 1) {
        await Promise.all([
          ...cases.flatMap((each) =>
            Array.from({ length: 6 }, async () => {
              const action = actions[Math.floor(next() * actions.length)] as Action;
              if (action === 'expire') await expire([each.run.id]);
              if (action === 'expire' || (action === 'cancel' && next() < 0.7)) return;
              const { status } = await act(t, each, action, next() < 0.5 ? one.url : two.url);
              statuses.set(status, (statuses.get(status) ?? 0) + 1);
            }),
          ),
          ...parts.map((part) => tickRuns(part)),
        ]);
        clock.leap(second);
      }
      const rows = await one.kernel.sql<Json[]>`
        select r.id, r.state, r.attempt, s.failures from scheduler.runs r join schedules.schedules s on s.id = r.schedule_id
        where r.account_id = ${t.account.id}`;
      for (const row of rows) {
        const known = ended.get(row.id);
        if (known !== undefined) assert.equal(`${row.state}:${row.attempt}`, known);
        if (finals.includes(row.state)) ended.set(row.id, `${row.state}:${row.attempt}`);
        assert.equal(row.failures, Number(row.state === 'failed'));
      }
    }
    // In the order of their transactions: a run is locked while it is moved.
    const told = await one.kernel.sql<{ id: string; moves: string[] }[]>`
      select subject as id, array_agg((body ->> 'state') || ':' || (body ->> 'attempt') order by xid, seq) as moves
      from kernel.changes where account_id = ${t.account.id} and topic = 'scheduler' group by subject`;
    assert.ok(told.length >= 120);
    for (const { id, moves: seen } of told) {
      const ends = seen.filter((move) => finals.includes(move.split(':')[0] as string));
      assert.ok(ends.length <= 1, `${id}: ${seen.join(' ')}`);
      if (ends.length === 1 && ended.has(id)) assert.equal(ends[0], ended.get(id));
      // Each attempt is started once: two results of one attempt, or two leases of one, would show.
      assert.equal(new Set(seen).size, seen.length, `${id}: ${seen.join(' ')}`);
    }
    assert.deepEqual(
      [...statuses.keys()].sort((a, b) => a - b),
      [200, 409],
    );
    assert.deepEqual(
      logged.filter((line) => /40P01|23505|PostgresError/.test(line)).map((line) => line.slice(0, 300)),
      [],
    );
  });

  test('tickers, hands, hosts, edits, pauses and deletions at once: no fault, no deadlock, and what must hold holds', async () => {
    const t = await open();
    const next = random(11);
    logged.length = 0;
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
    const every = { trigger: { type: 'interval', every_s: 2 }, late_after_s: 0 };
    const go = { trigger: { type: 'event', trigger_id: 'go' }, late_after_s: 0, overlap: 'queue' };
    const schedules: Json[] = [];
    const make = async (): Promise<void> => {
      const step = await t.create({
        ...every,
        overlap: pick(['skip', 'queue', 'kill']),
        retries: pick([0, 1]),
        retry_backoff_s: 1,
        policy: { pause_after_failures: 0 },
      });
      const evented = await t.create({ ...go, policy: { pause_after_failures: 0 } });
      const follower = await t.create({
        trigger: { type: 'after', schedule_id: step.id, on: 'always' },
        late_after_s: 0,
        overlap: 'queue',
        policy: { pause_after_failures: 0 },
      });
      const steps = [
        { schedule_id: step.id },
        { schedule_id: evented.id, on: 'always' },
        { schedule_id: follower.id, on: 'always' },
      ];
      const chain = await t.create({
        ...pick([every, go]),
        kind: 'chain',
        overlap: 'skip',
        spec: { steps, stop_on_failure: false },
        policy: { pause_after_failures: 0 },
      });
      const chain2 = await t.create({
        trigger: { type: 'after', schedule_id: evented.id, on: 'always' },
        kind: 'chain',
        spec: { steps: [{ schedule_id: follower.id }] },
      });
      schedules.push(step, evented, follower, chain, chain2);
    };
    for (let i = 0; i < 6; i += 1) await make();
    const statuses: Record<string, number> = {};
    const call = async (method: string, path: string, body?: Json, device?: string) => {
      const answer = await http(pick([one, two]).url, path, {
        method,
        key: t.account.key,
        ...(body && { body }),
        ...(device && { headers: { 'x-svc-device': device } }),
      });
      const key = `${answer.status} ${answer.body?.error?.code ?? ''}`;
      statuses[key] = (statuses[key] ?? 0) + 1;
      return answer;
    };
    const end = performance.now() + 6_000;
    const worker = (work: () => Promise<unknown>) => async () => {
      while (performance.now() < end) await work();
    };
    const device = (): string => devices[Math.floor(next() * devices.length)] as string;
    const devices = Array.from({ length: 6 }, newDevice);
    const host = worker(async () => {
      const by = device();
      const { body } = await call('POST', '/v1/scheduler/claim', {}, by);
      if (!body.run) return;
      const path = `/v1/schedule-runs/${body.run.id}`;
      if (next() < 0.3) await call('POST', `${path}/heartbeat`, { attempt: body.run.attempt }, by);
      if (next() < 0.05) await call('POST', `${path}/cancel`, {});
      if (next() < 0.95) await call('POST', `${path}/result`, { attempt: body.run.attempt, ok: next() < 0.6 }, by);
    });
    const twoRunning: number[] = [];
    await Promise.all([
      host(),
      host(),
      host(),
      host(),
      worker(async () => void (await call('POST', `/v1/schedules/${pick(schedules).id}/run`, {})))(),
      worker(async () => void (await call('POST', '/v1/triggers/go/fire', {})))(),
      worker(
        async () =>
          void (await call(
            'PATCH',
            `/v1/schedules/${pick(schedules).id}`,
            pick<Json>([
              { name: `n${next()}` },
              { policy: { pause_after_failures: 0, max_runs_per_hour: 3_000 } },
              { late_after_s: 0 },
            ]),
          )),
      )(),
      worker(async () => {
        await call('POST', '/v1/schedules/pause', { resume_policy: 'backfill' });
        clock.leap(3 * second);
        await call('POST', '/v1/schedules/resume', { backfill: true });
        clock.leap(second);
      })(),
      worker(async () => {
        clock.leap(pick([second, 2 * second]));
        await Promise.all(parts.map((part) => tickSchedules(part)));
        await new Promise((resolve) => setTimeout(resolve, 10));
      })(),
      worker(async () => {
        await new Promise((resolve) => setTimeout(resolve, 700));
        const gone = schedules.shift();
        await call('DELETE', `/v1/schedules/${gone.id}`);
        if (schedules.length < 24) await make();
      })(),
      worker(async () => {
        const rows = await one.kernel
          .sql`select schedule_id from scheduler.runs where state = 'running' group by 1 having count(*) > 1`;
        twoRunning.push(rows.length);
        await new Promise((resolve) => setTimeout(resolve, 20));
      })(),
    ]);
    const { sql } = one.kernel;
    const faults = logged.flatMap((line) => {
      const { err, msg, route } = JSON.parse(line);
      const frame = /at (\w+) \(file\S*features/.exec(err?.stack ?? '')?.[1] ?? '';
      return [
        `${route ?? ''} ${msg}: ${err?.code ?? ''} ${err?.message ?? ''} in ${frame} ${err?.where ?? ''}`.replaceAll(
          /\(\d+,\d+\)/g,
          '',
        ),
      ];
    });
    const counted: Record<string, number> = {};
    for (const fault of faults) counted[fault] = (counted[fault] ?? 0) + 1;
    const twice =
      await sql`select schedule_id, scheduled_for from scheduler.runs where origin in ('slot', 'catch_up') group by 1, 2 having count(*) > 1`;
    const failures = await sql<Json[]>`
      select s.id, s.failures, (
        select count(*)::int from scheduler.runs r
        where r.schedule_id = s.id and r.state in ('failed', 'timed_out')
          and r.finished_at > coalesce((select max(finished_at) from scheduler.runs o where o.schedule_id = s.id and o.state = 'succeeded'), 'epoch')
      ) as at_least, (
        select count(*)::int from scheduler.runs r
        where r.schedule_id = s.id and r.state in ('failed', 'timed_out')
          and r.finished_at >= coalesce((select max(finished_at) from scheduler.runs o where o.schedule_id = s.id and o.state = 'succeeded'), 'epoch')
      ) as at_most
      from schedules.schedules s where account_id = ${t.account.id}`;
    const orphans = await sql`
      select 1 from scheduler.runs r where r.state in ('pending', 'awaiting_approval', 'running')
        and not exists (select 1 from schedules.schedules s where s.id = r.schedule_id)`;
    assert.equal(twice.length, 0);
    assert.equal(orphans.length, 0);
    assert.equal(Math.max(...twoRunning), 0);
    for (const row of failures)
      assert.ok(row.failures >= row.at_least && row.failures <= row.at_most, JSON.stringify(row));
    assert.deepEqual(
      Object.keys(statuses).filter((key) => key.startsWith('5')),
      [],
    );
    assert.deepEqual(counted, {});
  });
});
