import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { bySystem, type Who } from '../../kernel/records/audit.ts';
import { testClock } from '../../kernel/base/clock.ts';
import { openTestPool } from '../../kernel/testing.ts';
import { shared } from '../../testing.shared.ts';
import { createRow, finishIn, forgetCreation, moveSandbox, type SandboxMove, sandboxes } from './sandboxes.moves.ts';
import { isDue as due, isV2 as v2 } from './sandboxes.moves.sql.ts';
import { type SandboxRow, takeSandbox } from './sandboxes.sql.ts';
import type { State } from './sandboxes.states.ts';

const keyId = randomUUID();
const by: Who = { kind: 'key', keyId };
const second = 1_000;
const lifeMs = 600 * second;
const names = (Object.keys(sandboxes.moves) as (keyof typeof sandboxes.moves)[]).filter(
  (name): name is SandboxMove => name !== 'create' && name !== 'forget',
);
/** A line of the table, and what its effects come to. */
const rowOf = (name: SandboxMove) => {
  const { from, guards, effects, outcomes } = sandboxes.moves[name];
  return {
    from: from as readonly State[],
    to: outcomes[0].to,
    guards,
    audit: effects.find(({ audit }) => audit !== undefined)?.audit,
    endsInThePast: effects.some(({ ends }) => ends?.inThePast),
  };
};
/** A way to every state, by moves of the table. */
const ways: Record<State, SandboxMove[]> = {
  creating: [],
  running: ['made'],
  pausing: ['made', 'pause'],
  paused: ['made', 'pause', 'paused'],
  resuming: ['made', 'pause', 'paused', 'resume'],
  stopped: ['made', 'stop'],
  expired: ['made', 'expireOnNode'],
  destroyed: ['made', 'destroy'],
};
const states = Object.keys(ways) as State[];
/** The spans that are metered in a state, besides commands. */
const metered = ({ state, backend }: Pick<SandboxRow, 'state' | 'backend'>): string[] => {
  if (state === 'paused' || state === 'resuming') return ['paused'];
  return backend === 'v2' && (state === 'running' || state === 'pausing') ? ['running'] : [];
};

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

describe('sandboxes: the table of moves', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:00Z'));
  const { sql } = shared(() => openTestPool(10));

  const create = (backend: 'v1' | 'v2' = 'v2') =>
    createRow(sql, clock, {
      id: randomUUID(),
      account_id: randomUUID(),
      key_id: keyId,
      backend,
      template: 'svc-base',
      egress: { mode: 'none' },
      metadata: {},
      ttlMs: lifeMs,
      memory_mb: 1024,
    });
  const go = (id: string, name: SandboxMove, given: { seen?: State; at?: string } = {}) =>
    moveSandbox({ sql, clock }, id, name, { by, snapshotBytes: 4_096, ...given });
  /** A sandbox in this state; v1 has no way to the paused ones. */
  const inState = async (state: State, backend: 'v1' | 'v2' = 'v2'): Promise<string> => {
    const { id } = await create(backend);
    for (const name of ways[state]) assert.ok(await go(id, name), `${state}: ${name}`);
    return id;
  };
  interface Everything {
    row: SandboxRow | undefined;
    spans: { kind: string; bytes: number; ms: number; open: boolean }[];
    audit: { action: string }[];
  }
  const everything = async (id: string): Promise<Everything> => {
    const [row] = await sql<SandboxRow[]>`select * from sandboxes.sandboxes where id = ${id}`;
    const spans = await sql<Everything['spans']>`
      select kind, bytes, ended_at is null as open,
        (extract(epoch from coalesce(ended_at, ${clock.instant()}) - started_at) * 1000)::bigint as ms
      from metering.spans where sandbox_id = ${id} order by started_at, kind`;
    const audit = await sql<
      { action: string }[]
    >`select split_part(action, '.', 2) as action from kernel.audit where subject = ${id} order by id`;
    return { row, spans: [...spans], audit: [...audit] };
  };
  /** Checks that the state alone decides which spans are metered, and that a paused sandbox has a snapshot. */
  const agree = ({ row, spans }: Everything, what: string): void => {
    const open = spans.filter((span) => span.open);
    assert.deepEqual(
      open.map(({ kind }) => kind),
      row ? metered(row) : [],
      what,
    );
    for (const { kind, bytes } of open) assert.equal(bytes, kind === 'paused' ? row?.snapshot_bytes : 0, what);
    const isPaused = row?.state === 'paused' || row?.state === 'resuming';
    if (row && (isPaused || row.state === 'running' || row.state === 'pausing')) {
      assert.equal(row.ttl_left_ms !== null, isPaused, what);
      assert.equal(row.snapshot_bytes !== null, isPaused, what);
    }
  };

  test('every move of every state is in the table or refused, and one that is refused changes nothing', async () => {
    for (const backend of ['v1', 'v2'] as const) {
      for (const state of states.filter((each) => backend === 'v2' || !ways[each].includes('pause'))) {
        for (const name of names) {
          const { from, to, guards, audit } = rowOf(name);
          for (const isDue of guards.includes(due) ? [false, true] : [false]) {
            const id = await inState(state, backend);
            if (isDue) await sql`update sandboxes.sandboxes set expires_at = ${clock.instant()} where id = ${id}`;
            const before = await everything(id);
            const isAllowed =
              from.includes(state) && (!guards.includes(v2) || backend === 'v2') && (!guards.includes(due) || isDue);
            const what = `${name} of ${backend} from ${state}`;
            const moved = await go(id, name);
            assert.equal(moved?.state, isAllowed ? to : undefined, what);
            const since = await everything(id);
            if (!isAllowed) assert.deepEqual(since, before, what);
            else assert.deepEqual(since.audit, [...before.audit, ...(audit === undefined ? [] : [{ action: audit }])]);
            agree(since, what);
          }
        }
      }
    }
  });

  test('a sandbox that is destroyed never moves, one that is made is never forgotten', async () => {
    assert.ok(names.every((name) => !rowOf(name).from.includes('destroyed')));
    for (const state of states) {
      const id = await inState(state);
      await forgetCreation(sql, id);
      assert.equal((await everything(id)).row?.state, state === 'creating' ? undefined : state);
    }
  });

  test('a move from the state that its caller saw is refused when it is in another by now', async () => {
    for (const [state, seen] of [
      ['running', 'pausing'],
      ['pausing', 'running'],
      ['paused', 'resuming'],
      ['running', 'expired'],
    ] as const) {
      const id = await inState(state);
      for (const name of ['stop', 'paused', 'resumed'] as const) {
        assert.equal(await go(id, name, { seen }), undefined, `${name} from ${state}, seen ${seen}`);
      }
    }
  });

  test('a sandbox that a command holds is not paused, however short it is taken before', async () => {
    const id = await inState('running');
    const { row } = await everything(id);
    const take = { id, accountId: row?.account_id as string, holder: randomUUID(), holdMs: 30 * second };
    assert.ok(await takeSandbox(sql, clock, take, sql`true`, sql`nothing as (select 1)`));
    assert.equal(await go(id, 'pause'), undefined);
    clock.leap(30 * second);
    assert.equal((await go(id, 'pause'))?.state, 'pausing');
  });

  test('whatever the sequence of moves: spans agree with the state, and lifetime and metered time add up', async () => {
    const next = random(20_261_123);
    const reached = new Set<string>();
    for (let n = 0; n < 60; n += 1) {
      const { id } = await create(n % 6 === 0 ? 'v1' : 'v2');
      let { row } = await everything(id);
      let lines = 0;
      const metering = { running: 0, paused: 0 };
      let leftMs = lifeMs;
      for (let step = 0; step < 24; step += 1) {
        const past = row as SandboxRow;
        const elapsed = Math.floor(next() * 20) * second;
        clock.leap(elapsed);
        const [kind] = metered(past) as ('running' | 'paused')[];
        if (kind) metering[kind] += elapsed;
        if (['creating', 'running', 'pausing'].includes(past.state)) leftMs -= elapsed;
        // Ends are rarer, so that sequences are long.
        const all = step < 16 ? names.filter((name) => !rowOf(name).endsInThePast) : names;
        const name = all[Math.floor(next() * all.length)] as SandboxMove;
        const moved = await go(id, name);
        const now = await everything(id);
        const what = `${n}.${step} ${name} from ${past.state}`;
        agree(now, what);
        row = now.row;
        if (moved) reached.add(`${name} from ${past.state}`);
        if (moved && rowOf(name).audit !== undefined) lines += 1;
        assert.equal(now.audit.length, lines, what);
        if (row?.state === 'running' || row?.state === 'pausing') {
          assert.equal(Date.parse(row.expires_at) - clock.now(), leftMs, what);
        } else if (row?.state === 'paused' || row?.state === 'resuming') assert.equal(row.ttl_left_ms, leftMs, what);
      }
      const { spans } = await everything(id);
      for (const kind of ['running', 'paused'] as const) {
        const ms = spans.filter((span) => span.kind === kind).reduce((sum, span) => sum + span.ms, 0);
        assert.equal(ms, metering[kind], `${n}: ${kind}`);
      }
    }
    const lasting = names.filter((name) => !rowOf(name).endsInThePast);
    const possible = lasting.flatMap((name) => rowOf(name).from.map((from) => `${name} from ${from}`));
    assert.deepEqual(
      possible.filter((each) => !reached.has(each)),
      [],
    );
  });

  test('an end ends everything that is metered: no later than the lifetime, or than it was seen', async () => {
    for (const at of [undefined, 30]) {
      const id = await inState('running');
      const { row } = await everything(id);
      await sql`
        insert into metering.spans (id, account_id, sandbox_id, kind, started_at)
        values (${randomUUID()}, ${row?.account_id as string}, ${id}, 'exec_v2', ${clock.instant()})`;
      const seen = at === undefined ? {} : { at: new Date(clock.now() + at * second).toISOString() };
      clock.leap(2 * lifeMs);
      assert.equal((await go(id, 'stop', seen))?.state, 'stopped');
      const { spans } = await everything(id);
      const ms = at === undefined ? lifeMs : at * second;
      assert.deepEqual(
        spans.map((span) => [span.kind, span.open, span.ms]),
        [
          ['exec_v2', false, ms],
          ['running', false, ms],
        ],
      );
    }
  });

  test('a pause that the keeper finished first is answered, and both are in the audit log', async () => {
    const id = await inState('pausing');
    const { row } = await everything(id);
    await moveSandbox({ sql, clock }, id, 'paused', { by: bySystem, seen: 'pausing', snapshotBytes: 4_096 });
    const of = { accountId: row?.account_id as string, id };
    const given = { by, snapshotBytes: 4_096 };
    assert.equal((await sql.begin((tx) => finishIn(tx, { clock }, of, 'paused', given))).state, 'paused');
    const lines = await sql`select action, key_id from kernel.audit where subject = ${id} order by id`;
    assert.deepEqual(
      [...lines],
      [
        { action: 'sandboxes.create', key_id: keyId },
        { action: 'sandboxes.pause', key_id: null },
        { action: 'sandboxes.pause', key_id: keyId },
      ],
    );
    agree(await everything(id), 'paused twice');
    await go(id, 'destroy');
    await assert.rejects(
      sql.begin((tx) => finishIn(tx, { clock }, of, 'paused', given)),
      /not found|no such/i,
    );
  });
});
