import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { newDevice } from './scheduler.testing.ts';
import { claimForHost, renewLease } from './claims/claims.sql.ts';
import { changeRun, findRun, insertRuns, type RunRow } from './scheduler.sql.ts';
import { byTime, columnsFor, move, type RunMove, runs, type Step } from './scheduler.moves.ts';
import { runStates } from './scheduler.states.ts';
import { instantOf, plus } from '../../kernel/db/instant.ts';
import { openTestPool } from '../../kernel/testing.ts';
import { shared } from '../../testing.shared.ts';

const now = instantOf(Date.parse('2026-11-23T09:00:00Z'));
const at = (ms: number): string => plus(now, ms).iso;
const day = 86_400_000;
const device = newDevice();
const gateway = newDevice();

const base: RunRow = {
  id: randomUUID(),
  account_id: randomUUID(),
  schedule_id: randomUUID(),
  key_id: null,
  made_by: null,
  scheduled_for: at(0),
  origin: 'manual',
  state: 'pending',
  attempt: 2,
  created_at: at(0),
  not_before: at(0),
  late_at: null,
  name: 'a run',
  kind: 'agent',
  spec: {},
  sealed_headers: null,
  pool: 'host',
  target_type: 'any',
  target_id: null,
  target_tags: null,
  failover: null,
  command_hash: null,
  overlap: 'skip',
  timeout_s: 100,
  retries: 1,
  retry_backoff_s: 5,
  budget_micro_usd: null,
  holder_id: null,
  lease_expires_at: null,
  started_at: null,
  finished_at: null,
  retries_used: 0,
  leases_lost: 0,
  exit_code: null,
  ended_processes: null,
  cost_before_micro_usd: 10,
  cost_micro_usd: 15,
  log_tail: null,
  session_id: null,
  error: null,
  answers: [],
  parent_run_id: null,
  chain_step: null,
  ending: null,
  ending_until: null,
  spec_hash: null,
  refused_by: [],
};

/** Every combination of what guards look at. */
function* everyRun(): Generator<RunRow> {
  for (const state of runStates.names)
    for (const [pool, holder] of [
      ['host', device],
      ['cloud', gateway],
      ['host', null],
    ] as const)
      for (const kind of ['agent', 'chain'] as const)
        for (const attempt of [2, 3])
          for (const lease of [-1, 1])
            for (const started of [null, -101_000, -1_000])
              for (const retries_used of [0, 1])
                for (const leases_lost of [0, 3])
                  for (const created of [0, -day])
                    yield {
                      ...base,
                      state,
                      pool,
                      kind,
                      attempt,
                      retries_used,
                      leases_lost,
                      holder_id: holder,
                      lease_expires_at: at(lease),
                      started_at: started === null ? null : at(started),
                      created_at: at(created),
                      not_before: at(created),
                    };
}

const by = { pool: 'host', attempt: 2, holderId: device } as const;
/** Every move, with all that a caller may give. */
const steps: Record<Exclude<RunMove, 'create'>, Step[]> = {
  askAgain: [move('askAgain')],
  approve: [move('approve', { lateAt: null }), move('approve', { lateAt: at(5) })],
  skip: [move('skip')],
  claim: [move('claim', { holderId: device, leaseUntil: at(60) })],
  startChain: [move('startChain')],
  keep: [move('keep', { by, leaseUntil: at(60) })],
  report: [true, false].map((ok) => move('report', { by, ok })),
  finishChain: [true, false].map((ok) => move('finishChain', { ok })),
  stopOverBudget: [move('stopOverBudget', { by })],
  handBack: [move('handBack', { by }), move('handBack', { by: { pool: 'cloud', attempt: 2, holderId: gateway } })],
  refuse: [move('refuse', { by })],
  loseLease: [move('loseLease', {})],
  timeOut: [move('timeOut', { graceMs: 0 })],
  expireApproval: [move('expireApproval')],
  expire: [move('expire')],
  loseKey: [move('loseKey', { error: 'why' })],
  restore: [move('restore')],
  cancel: [move('cancel', { reason: 'why' })],
  reportNative: [true, false].map((ok) =>
    move('reportNative', { ok, deviceId: device, startedAt: at(0), finishedAt: at(1) }),
  ),
};

describe('scheduler: the table of moves', () => {
  const { sql } = shared(() => openTestPool(10));

  test('every move of every state is in the table or refused, and each line of the table is made', () => {
    const made = new Set<string>();
    for (const run of everyRun()) {
      for (const [name, each] of Object.entries(steps)) {
        const row = runs.moves[name as RunMove];
        for (const step of each) {
          const change = step(run, now);
          if (!change) continue;
          assert.ok((row.from as readonly string[]).includes(run.state), `${name} from ${run.state}`);
          assert.ok(
            row.outcomes.some(({ to }) => to === change.state),
            `${name} to ${change.state}`,
          );
          made.add(`${name}: ${run.state} -> ${change.state}`);
        }
      }
    }
    const table = Object.entries(runs.moves).flatMap(([name, { from, outcomes }]) =>
      from.flatMap((state) => outcomes.map(({ to }) => `${name}: ${state} -> ${to}`)),
    );
    assert.deepEqual([...made].sort(), table.sort());
  });

  test('a final state never moves, and everything else can be cancelled', () => {
    assert.deepEqual(runStates.names.filter((state) => !runStates.isFinal(state)).sort(), [
      'awaiting_approval',
      'pending',
      'running',
    ]);
    for (const run of everyRun()) {
      const all = [...Object.values(steps).flat(), byTime(0)];
      if (runStates.isFinal(run.state)) assert.ok(all.every((step) => step(run, now) === undefined));
      else assert.equal(move('cancel', { reason: 'why' })(run, now)?.state, 'cancelled');
    }
  });

  test('nothing that a holder says counts unless it still has the attempt', () => {
    const held: RunRow = { ...base, state: 'running', holder_id: device, started_at: at(-1), lease_expires_at: at(1) };
    const said = (from: Parameters<typeof move<'handBack'>>[1]['by'], run: RunRow) =>
      [
        move('keep', { by: from, leaseUntil: at(60) }),
        move('report', { by: from, ok: true }),
        move('stopOverBudget', { by: from }),
        move('handBack', { by: from }),
        move('refuse', { by: from }),
      ].map((step) => step(run, now) !== undefined);
    const [yes, no] = [Array(5).fill(true), Array(5).fill(false)];
    assert.deepEqual(said(by, held), yes);
    assert.deepEqual(said({ ...by, holderId: undefined }, held), yes);
    assert.deepEqual(said({ ...by, attempt: 1 }, held), no);
    assert.deepEqual(said({ ...by, holderId: newDevice() }, held), no);
    assert.deepEqual(said({ ...by, pool: 'cloud' }, held), no);
    assert.deepEqual(said(by, { ...held, state: 'cancelled' }), no);
    assert.deepEqual(said({ ...by, holderId: undefined }, { ...held, holder_id: null }), no);
  });

  /** Stores a run that looks like this one. */
  async function store(run: RunRow): Promise<RunRow> {
    const { id: _, attempt, holder_id, lease_expires_at, started_at, created_at: __, ...rest } = run;
    const fresh = { ...rest, account_id: randomUUID(), schedule_id: randomUUID() };
    const [made] = await insertRuns(sql, [{ ...fresh, state: 'pending' }], at(0));
    const { state, cost_before_micro_usd, cost_micro_usd, error, log_tail, exit_code } = run;
    const row = { state, attempt, holder_id, lease_expires_at, started_at, error, log_tail, exit_code };
    return changeRun(sql, { ...run, id: made?.id as string }, { ...row, cost_before_micro_usd, cost_micro_usd });
  }

  test('a claim, which is one statement, writes what the table says', async () => {
    const claim = { holderId: device, now: at(0), leaseUntil: at(60_000) };
    const host = { deviceId: device, kinds: ['agent'], tags: [] };
    const before: RunRow = { ...base, late_at: at(5), error: 'of before', log_tail: 'of before', exit_code: 3 };
    const waiting = await store(before);
    const claimed = await claimForHost(sql, waiting.account_id, host, claim, true);
    assert.deepEqual(claimed, { ...waiting, ...columnsFor('claim', claim, now), ignore: null });
    assert.deepEqual(claimed, { ...waiting, ...move('claim', claim)(waiting, now), ignore: null });
    for (const state of runStates.names.filter((each) => each !== 'pending')) {
      const other = await store({ ...before, state });
      assert.equal(await claimForHost(sql, other.account_id, host, claim, true), undefined, state);
    }
  });

  test('a heartbeat, which is one statement, writes what the table says, and is refused when the table refuses', async () => {
    const statuses = { kept: 0, refused: 0 };
    for (const state of runStates.names)
      for (const lease of [null, -1_000, 0, 1_000])
        for (const attempt of [1, 2])
          for (const holder of [device, newDevice(), null])
            for (const costMicroUsd of [undefined, 3, 30]) {
              const holder_id = holder;
              const run = await store({
                ...base,
                state,
                attempt,
                holder_id,
                lease_expires_at: lease === null ? null : at(lease),
                log_tail: 'so far',
              });
              const values = { leaseUntil: at(60_000), logTail: costMicroUsd === 3 ? 'more' : undefined, costMicroUsd };
              const change = move('keep', { by, ...values })(run, now);
              const held = { id: run.id, attempt: by.attempt, holderId: by.holderId };
              const kept = await renewLease(sql, held, { ...values, now: at(0) });
              assert.deepEqual(kept, change && { ...run, ...change });
              assert.deepEqual(await findRun(sql, run.id), kept ?? run);
              statuses[kept ? 'kept' : 'refused'] += 1;
            }
    assert.deepEqual(statuses, { kept: 3, refused: runStates.names.length * 72 - 3 });
  });
});
