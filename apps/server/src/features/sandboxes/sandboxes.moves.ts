import { randomUUID } from 'node:crypto';
import type { Who } from '../../kernel/records/audit.ts';
import { type Db, inTransaction, type Time } from '../../kernel/db/db.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { endSpansOf, insertSpan, type SpanKind } from '../metering/index.ts';
import { type Gone, type Machine, machine } from '../../kernel/machine.ts';
import {
  changeSandbox,
  type Effect,
  extended,
  frozen,
  type Guard,
  isDue,
  isIdle,
  isV2,
  type Made,
  set,
  setLeft,
  snapshotDropped,
  snapshotKept,
  thawed,
} from './sandboxes.moves.sql.ts';
import { deleteSandbox, findSandbox, insertAudit, insertSandbox, type SandboxRow } from './sandboxes.sql.ts';
import { sandboxStates, type State } from './sandboxes.states.ts';
import { sandboxChange } from './sandboxes.view.ts';
import { insertEvent, type SandboxEventKind } from './shown/events.sql.ts';

const ends = (...kinds: SpanKind[]): Effect => ({
  says: `ends ${kinds.join(', ')}`,
  ends: { kinds, inThePast: false },
});
const begins = (kind: 'running' | 'paused'): Effect => ({
  says: `begins ${kind}${kind === 'running' ? ' (v2)' : ''}`,
  begins: kind,
});
const audit = (action: string): Effect => ({ says: `audit \`${action}\``, audit: action });
/** An event; `detailOf` says nothing where there is none. */
const logs = (
  kind: SandboxEventKind,
  detailOf: (row: SandboxRow, made: Made) => object | undefined = () => ({}),
): Effect => ({
  says: `event \`${kind}\``,
  logs(row, made) {
    const detail = detailOf(row, made);
    return detail === undefined ? [] : [{ sandboxId: row.id, kind, detail }];
  },
});
const created = logs('created', ({ template, backend }) => ({ template, backend }));
/** The child was created, and its parent forked. */
const wasForked: Effect = {
  says: 'event `created`, and `forked` of its parent',
  logs: ({ id, parent_id: parent, template, backend }) => [
    { sandboxId: id, kind: 'created', detail: { template, backend, parent_id: parent } },
    ...(parent === null ? [] : [{ sandboxId: parent, kind: 'forked' as const, detail: { child_id: id } }]),
  ],
};
const wasPaused = logs('paused', ({ snapshot_bytes: bytes }) => ({ snapshot_bytes: bytes ?? 0 }));
const wasResumed = logs('resumed', ({ restored }) => ({ restored: restored ?? false }));
const wasExtended = logs('extended', ({ expires_at: at, ttl_left_ms: left }, { ttlSeconds }) =>
  ttlSeconds === undefined ? undefined : { ttl_seconds: ttlSeconds, ...(left === null && { expires_at: at }) },
);
const hasStopped = (reason?: 'expired' | 'destroyed'): Effect =>
  logs('stopped', (_, made) => ({ reason: reason ?? made.reason ?? 'ended' }));
/** With what the caller was told; a failure that is no answer says nothing to its owner. */
const hasFailed = (what: 'pause' | 'resume'): Effect =>
  logs('failed', (_, { failure }) =>
    failure instanceof ApiError ? { what, code: failure.code, message: failure.message } : { what },
  );
const tells = (op: 'created' | 'updated'): Effect => ({ says: `told as ${op}`, tells: op });
/** Nothing ran past its lifetime, however late its end is noticed. */
const over: Effect = {
  says: 'ends exec_v1, exec_v2, running, paused; ran no longer than its lifetime, or than it was seen',
  ends: { kinds: ['exec_v1', 'exec_v2', 'running', 'paused'], inThePast: true },
};
const anyLive = ['running', 'pausing', 'paused', 'resuming'] as const;

const line = <const From extends readonly State[], To extends State | Gone>(
  from: From,
  to: To,
  { guards = [], effects = [] }: { guards?: readonly Guard[]; effects?: readonly Effect[] } = {},
) => ({ from, guards, outcomes: [{ to }] as const, effects });

const moves = {
  create: line([], 'creating'),
  forget: line(['creating'], 'gone'),
  made: line(['creating'], 'running', { effects: [begins('running'), audit('create'), created, tells('created')] }),
  forked: line(['creating'], 'running', { effects: [begins('running'), audit('fork'), wasForked, tells('created')] }),

  pause: line(['running'], 'pausing', { guards: [isV2, isIdle] }),
  // From `running`: the node has paused it although the pause was answered as failed.
  paused: line(['pausing', 'running'], 'paused', {
    guards: [isV2],
    effects: [frozen, snapshotKept, ends('running'), begins('paused'), audit('pause'), wasPaused, tells('updated')],
  }),
  keepRunning: line(['pausing'], 'running', { effects: [hasFailed('pause')] }),

  extend: line(['running'], 'running', { effects: [extended, wasExtended, tells('updated')] }),

  change: line(['running'], 'running', { effects: [set, audit('update'), wasExtended] }),
  changePaused: line(['paused'], 'paused', { effects: [setLeft, audit('update'), wasExtended] }),

  resume: line(['paused'], 'resuming'),
  // From `paused`: the node runs it although the resume was answered as failed.
  resumed: line(['resuming', 'paused'], 'running', {
    effects: [
      thawed,
      snapshotDropped,
      ends('paused'),
      begins('running'),
      audit('resume'),
      wasResumed,
      tells('updated'),
    ],
  }),
  keepPaused: line(['resuming'], 'paused', { effects: [hasFailed('resume')] }),

  expire: line(['running'], 'expired', {
    guards: [isDue],
    effects: [over, audit('expire'), hasStopped('expired'), tells('updated')],
  }),
  expireOnNode: line(anyLive, 'expired', { effects: [over, audit('expire'), hasStopped('expired'), tells('updated')] }),
  stop: line(anyLive, 'stopped', { effects: [over, audit('stop'), hasStopped(), tells('updated')] }),
  discard: line(['running'], 'destroyed', {
    effects: [over, audit('destroy'), hasStopped('destroyed'), tells('updated')],
  }),
  destroy: line([...anyLive, 'stopped', 'expired'], 'destroyed', {
    effects: [over, audit('destroy'), hasStopped('destroyed'), tells('updated')],
  }),
};

/** Every move of a sandbox. Nothing else sets the state of one; README.md shows this table. */
export const sandboxes: Machine<State, typeof moves> = machine({
  table: 'sandboxes.sandboxes',
  states: sandboxStates,
  moves,
});

/** The moves of a row that is there and stays. */
export type SandboxMove = Exclude<keyof typeof moves, 'create' | 'forget'>;

/** The input of a move. */
interface Given extends Made {
  /** Who asked for it. */
  by: Who;
  /** Only from this state, in which the caller has seen it. */
  seen?: State;
  /** When it was seen last; its running time counts no longer than that. */
  at?: string | undefined;
  /** For the audit log. */
  detail?: (row: SandboxRow) => object;
}

/** What a move needs; without a feed nobody is told, as when the account is deleted. */
type Parts = Pick<Kernel, 'clock'> & { readonly feed?: Pick<Kernel['feed'], 'record'> };

/** Stores a sandbox that is about to be made. */
export const createRow = (tx: Db, time: Time, sandbox: Omit<Parameters<typeof insertSandbox>[2], 'state'>) =>
  insertSandbox(tx, time, { ...sandbox, state: moves.create.outcomes[0].to });

/** Forgets a sandbox that was never there: its creation failed. */
export const forgetCreation = (db: Db, id: string): Promise<void> => deleteSandbox(db, id, moves.forget.from);

/** The same as `moveIn`, in a transaction of its own. */
export const moveSandbox = (
  parts: Parts & Pick<Kernel, 'sql'>,
  id: string,
  name: SandboxMove,
  given: Given,
): Promise<SandboxRow | undefined> => inTransaction(parts.sql, (tx) => moveIn(tx, parts, id, name, given));

/**
 * Moves a sandbox with all that its move means: lifetime, metered spans and the audit line, in the caller's transaction.
 * Undefined when the table does not allow it, or its guard does not hold; then nothing has changed.
 */
export async function moveIn(
  tx: Db,
  { clock: time, feed }: Parts,
  id: string,
  name: SandboxMove,
  given: Given,
): Promise<SandboxRow | undefined> {
  const { from, guards, effects, outcomes } = moves[name];
  const { seen, at, snapshotBytes = 0 } = given;
  const states = from.filter((state: State) => seen === undefined || state === seen);
  const move = { from: states, to: outcomes[0].to, guards, effects };
  const row = states.length === 0 ? undefined : await changeSandbox(tx, time, id, move, given);
  if (!row) return undefined;
  const { account_id: accountId } = row;
  const until = at !== undefined && at < row.expires_at ? at : row.expires_at;
  for (const effect of effects) {
    const { kinds = [], inThePast = false } = effect.ends ?? {};
    const ran = kinds.filter((kind) => kind !== 'paused');
    if (ran.length > 0) await endSpansOf(tx, time, id, ran, inThePast ? until : undefined);
    if (kinds.includes('paused')) await endSpansOf(tx, time, id, ['paused']);
    if (effect.begins === 'paused' || (effect.begins === 'running' && row.backend === 'v2')) {
      const bytes = effect.begins === 'paused' ? snapshotBytes : 0;
      await insertSpan(tx, time, { id: randomUUID(), accountId, sandboxId: id, kind: effect.begins, bytes });
    }
    if (effect.audit !== undefined) await insertAudit(tx, lineOf(row, effect.audit, given));
    for (const event of effect.logs?.(row, given) ?? []) await insertEvent(tx, time, event);
    if (effect.tells !== undefined) await feed?.record(tx, [sandboxChange(effect.tells, row, time.now())]);
  }
  return row;
}

/**
 * The same for the end of a move that the keeper may have come to first: then only the caller's audit line is written.
 * Throws 404 when the sandbox is in another state by now.
 */
export async function finishIn(
  tx: Db,
  parts: Parts,
  { accountId, id }: { accountId: string; id: string },
  name: 'paused' | 'resumed',
  given: Given,
): Promise<SandboxRow> {
  const moved = await moveIn(tx, parts, id, name, given);
  if (moved) return moved;
  const { outcomes, effects } = moves[name];
  const row = await findSandbox(tx, accountId, id);
  if (row?.state !== outcomes[0].to) throw notFound('sandbox');
  for (const { audit: action } of effects) if (action !== undefined) await insertAudit(tx, lineOf(row, action, given));
  return row;
}

const lineOf = (row: SandboxRow, action: string, { by, detail }: Given) => ({
  accountId: row.account_id,
  by,
  sandboxId: row.id,
  action,
  ...(detail && { detail: detail(row) }),
});
