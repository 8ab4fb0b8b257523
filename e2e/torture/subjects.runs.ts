import { createHash, randomUUID } from 'node:crypto';
import { PingBatches } from '../../apps/server/src/features/heartbeats/heartbeats.batch.ts';
import { monitors } from '../../apps/server/src/features/heartbeats/heartbeats.moves.ts';
import { DeadlineTicker } from '../../apps/server/src/features/heartbeats/heartbeats.ticker.ts';
import { update } from '../../apps/server/src/features/heartbeats/update.ts';
import { claimForHost } from '../../apps/server/src/features/scheduler/claims/claims.sql.ts';
import { moveRun } from '../../apps/server/src/features/scheduler/outcomes/settle.ts';
import { Changes } from '../../apps/server/src/features/scheduler/scheduler.changes.ts';
import { move as step, runs } from '../../apps/server/src/features/scheduler/scheduler.moves.ts';
import { inTransaction, type Sql } from '../../apps/server/src/kernel/db/db.ts';
import { createAccount, http, type TestAccount } from '../../apps/server/src/testing.ts';
import { edgesOf, kernelOn, type Subject, subjectOf } from './subject.ts';
import type { World } from './world.ts';

/** Runs of schedules, and monitors. */
export async function runSubjects(world: World): Promise<Subject[]> {
  return [runSubject(world), monitorSubject(world, await createAccount(world.helper))];
}

const minute = 60_000;

function runSubject(world: World): Subject {
  const { sql, helper } = world;
  const { kernel, url } = helper;
  const holderId = randomUUID();
  const by = { pool: 'host' as const, attempt: 1, holderId };
  const leaseUntil = new Date(kernel.clock.now() + minute).toISOString();
  const given: Record<string, object | undefined> = {
    approve: { lateAt: null },
    keep: { by, leaseUntil, logTail: 'x' },
    'report well': { by, ok: true },
    'report badly': { by, ok: false, error: 'exit 1', exitCode: 1 },
    stopOverBudget: { by },
    handBack: { by },
    refuse: { by },
    loseLease: {},
    timeOut: { graceMs: 0 },
    loseKey: { error: 'its key ended' },
    cancel: { reason: 'because' },
  };
  const words = { report: { well: 'succeeded', badly: 'failed' }, loseLease: { once: 'pending' } };
  const edges = edgesOf(runs, words)
    .filter(({ move }) => !['startChain', 'finishChain', 'reportNative'].includes(move))
    .map((edge) => (edge.move === 'timeOut' ? { ...edge, to: 'timed_out' } : edge));
  const claim = async (pool: Sql, id: string): Promise<string | undefined> => {
    const [row] = await sql<{ account_id: string }[]>`select account_id from scheduler.runs where id = ${id}`;
    const now = kernel.clock.instant() ?? '';
    const host = { deviceId: holderId, kinds: ['agent'], tags: [] };
    return (await claimForHost(pool, row?.account_id ?? '', host, { now, leaseUntil, holderId }, true))?.state;
  };
  return subjectOf(sql, {
    table: 'scheduler.runs',
    edges,
    first: 'pending',
    async create() {
      const account = await createAccount(helper);
      const body = { name: 'a', kind: 'agent', spec: { prompt: 'x' }, trigger: { type: 'event', trigger_id: 'go' } };
      const schedule = await http(url, '/v1/schedules', { key: account.key, body });
      const path = `/v1/schedules/${schedule.body.id}/run`;
      const run = await http(url, path, { key: account.key, method: 'POST' });
      if (run.status >= 300) throw new Error(JSON.stringify([schedule.body, run.body]));
      return run.body.run_id as string;
    },
    async ready(id, moves) {
      const now = kernel.clock.instant();
      const all = moves.map((move) => move.split(' ')[0] ?? '');
      if (all.includes('loseLease'))
        await sql`update scheduler.runs set lease_expires_at = ${now} where id = ${id} and state = 'running'`;
      if (all.includes('timeOut'))
        await sql`update scheduler.runs set started_at = ${now}::timestamptz - make_interval(secs => timeout_s)
          where id = ${id} and state = 'running'`;
      if (all.includes('expire') || all.includes('expireApproval'))
        await sql`update scheduler.runs set created_at = ${now}::timestamptz - interval '1 day',
          not_before = ${now}::timestamptz - interval '1 day' where id = ${id}`;
    },
    perform: async (pool, id, move) => {
      if (move === 'claim') return claim(pool, id);
      const [row] = await sql<{ schedule_id: string }[]>`select schedule_id from scheduler.runs where id = ${id}`;
      const parts = { kernel: kernelOn(kernel, pool), changes: new Changes(kernel) };
      const name = (move.split(' ')[0] ?? '') as 'expire';
      const wanted = (step as (name: string, given?: object) => ReturnType<typeof step>)(
        name,
        given[move] ?? given[name],
      );
      return inTransaction(
        pool,
        async (tx) => (await moveRun(parts, tx, { id, schedule_id: row?.schedule_id ?? '' }, wanted))?.state,
      );
    },
  });
}

function monitorSubject(world: World, account: TestAccount): Subject {
  const { sql, helper } = world;
  const { kernel } = helper;
  const patch = (pool: Sql, id: string, paused: boolean): Promise<unknown> => {
    const context = {
      kernel: kernelOn(kernel, pool),
      clock: kernel.clock,
      actor: { accountId: account.id },
      transaction: <T>(work: (tx: never) => Promise<T>) => inTransaction(pool, work as never),
    };
    return update({}).run(context as never, { params: { id }, body: { paused } } as never);
  };
  const ping = async (pool: Sql, id: string, kind: 'success' | 'fail'): Promise<unknown> => {
    const [row] = await sql<{ token_hash: Buffer }[]>`select token_hash from heartbeats.monitors where id = ${id}`;
    const hash = row?.token_hash ?? createHash('sha256').digest();
    const signal = { kind, exitCode: null, rid: null, hash, body: Buffer.alloc(0) };
    return new PingBatches(kernelOn(kernel, pool), {}).add(signal);
  };
  return subjectOf(sql, {
    table: 'heartbeats.monitors',
    column: 'status',
    edges: edgesOf(monitors),
    first: 'new',
    async create() {
      const answer = await http(helper.url, '/v1/heartbeats', { key: account.key, body: { name: 'a', period_s: 300 } });
      if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
      return answer.body.id as string;
    },
    async ready(id, moves) {
      // Others are not due, or the ticker would take them too.
      await sql`update heartbeats.monitors set armed_at = armed_at + interval '1 day', deadline = deadline + interval '1 day'
        where id <> ${id} and deadline <= ${kernel.clock.instant()}::timestamptz`;
      if (!moves.includes('expire')) return;
      await sql`update heartbeats.monitors set armed_at = armed_at - interval '1 day', deadline = deadline - interval '1 day',
        last_success_at = last_success_at - interval '1 day', expected_at = expected_at - interval '1 day' where id = ${id}`;
    },
    perform: async (pool, id, move) => {
      if (move === 'pause' || move === 'resume') await patch(pool, id, move === 'pause');
      else if (move === 'expire') await new DeadlineTicker(kernelOn(kernel, pool), {}).tick();
      else await ping(pool, id, move === 'succeed' ? 'success' : 'fail');
      // What the operations answer is what they left, and another one may have come after it.
      return move === 'pause' || move === 'resume' || move === 'expire' ? 'done' : 'taken';
    },
  });
}
