import { randomUUID } from 'node:crypto';
import type { Who } from '../../kernel/records/audit.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { endSpansOf, insertSpan, type SpanKind } from '../metering/index.ts';
import {
  changeSandbox,
  deleteSandbox,
  findSandbox,
  type Guard,
  type Lifetime,
  insertAudit,
  insertSandbox,
  type SandboxRow,
  type State,
} from './sandboxes.sql.ts';

type Time = Kernel['clock'];

/** A line of the table. */
export interface SandboxMoveRow {
  /** Empty: the move creates the row. */
  from: readonly State[];
  /** `gone`: the row is deleted. */
  to: State | 'gone';
  /** What the statement checks besides the state. */
  guards?: readonly Guard[];
  /** What becomes of the lifetime; with `ttlSeconds`, where it is set or extended. */
  lifetime?: Lifetime;
  /** The snapshot's bytes: written with the move, or no longer there. */
  snapshot?: 'kept' | 'dropped';
  /** Open spans of these kinds end. */
  ends?: readonly SpanKind[];
  /** They end with the lifetime, or when the sandbox was seen last, if that was before now. */
  endsInThePast?: boolean;
  /** A span of this kind begins; `running` is metered for v2 only. */
  begins?: 'running' | 'paused';
  /** The action in the audit log. */
  audit?: string;
}

const anyLive = ['running', 'pausing', 'paused', 'resuming'] as const;
const made = { from: ['creating'], to: 'running', begins: 'running' } as const;
/** Nothing ran past its lifetime, however late its end is noticed. */
const over = { ends: ['exec_v1', 'exec_v2', 'running', 'paused'], endsInThePast: true } as const;

/** Every move of a sandbox. Nothing else sets the state of one; README.md shows this table. */
export const sandboxMoves = {
  create: { from: [], to: 'creating' },
  forget: { from: ['creating'], to: 'gone' },
  made: { ...made, audit: 'create' },
  forked: { ...made, audit: 'fork' },

  pause: { from: ['running'], to: 'pausing', guards: ['v2', 'idle'] },
  // From `running`: the node has paused it although the pause was answered as failed.
  paused: {
    from: ['pausing', 'running'],
    to: 'paused',
    guards: ['v2'],
    lifetime: 'freeze',
    snapshot: 'kept',
    ends: ['running'],
    begins: 'paused',
    audit: 'pause',
  },
  keepRunning: { from: ['pausing'], to: 'running' },

  extend: { from: ['running'], to: 'running', lifetime: 'extend' },

  change: { from: ['running'], to: 'running', lifetime: 'set', audit: 'update' },
  changePaused: { from: ['paused'], to: 'paused', lifetime: 'setLeft', audit: 'update' },

  resume: { from: ['paused'], to: 'resuming' },
  // From `paused`: the node runs it although the resume was answered as failed.
  resumed: {
    from: ['resuming', 'paused'],
    to: 'running',
    lifetime: 'thaw',
    snapshot: 'dropped',
    ends: ['paused'],
    begins: 'running',
    audit: 'resume',
  },
  keepPaused: { from: ['resuming'], to: 'paused' },

  expire: { from: ['running'], to: 'expired', guards: ['due'], ...over, audit: 'expire' },
  expireOnNode: { from: anyLive, to: 'expired', ...over, audit: 'expire' },
  stop: { from: anyLive, to: 'stopped', ...over, audit: 'stop' },
  discard: { from: ['running'], to: 'destroyed', ...over, audit: 'destroy' },
  destroy: { from: [...anyLive, 'stopped', 'expired'], to: 'destroyed', ...over, audit: 'destroy' },
} as const satisfies Record<string, SandboxMoveRow>;

/** The moves of a row that is there and stays. */
export type SandboxMove = Exclude<keyof typeof sandboxMoves, 'create' | 'forget'>;

/** What a move is made with. */
export interface Given {
  /** Who asked for it. */
  by: Who;
  /** Only from this state, in which the caller has seen it. */
  seen?: State;
  /** When it was seen last; its running time counts no longer than that. */
  at?: string | undefined;
  restored?: boolean;
  imageDigest?: string;
  snapshotBytes?: number;
  ttlSeconds?: number;
  /** For the audit log. */
  detail?: (row: SandboxRow) => object;
}

/** Stores a sandbox that is about to be made. */
export const createRow = (tx: Db, time: Time, sandbox: Omit<Parameters<typeof insertSandbox>[2], 'state'>) =>
  insertSandbox(tx, time, { ...sandbox, state: sandboxMoves.create.to });

/** Forgets a sandbox that was never there: its creation failed. */
export const forgetCreation = (db: Db, id: string): Promise<void> => deleteSandbox(db, id, sandboxMoves.forget.from);

/** The same as `moveIn`, in a transaction of its own. */
export const moveSandbox = (
  { sql, clock }: Pick<Kernel, 'sql' | 'clock'>,
  id: string,
  name: SandboxMove,
  given: Given,
): Promise<SandboxRow | undefined> => inTransaction(sql, (tx) => moveIn(tx, clock, id, name, given));

/**
 * Moves a sandbox with all that its move means: lifetime, metered spans and the audit line, in the caller's transaction.
 * Undefined when the table does not allow it, or its guard does not hold; then nothing has changed.
 */
export async function moveIn(
  tx: Db,
  time: Time,
  id: string,
  name: SandboxMove,
  given: Given,
): Promise<SandboxRow | undefined> {
  const move: SandboxMoveRow & { to: State } = sandboxMoves[name];
  const { seen, at, snapshotBytes = 0 } = given;
  const from = move.from.filter((state) => seen === undefined || state === seen);
  const row = from.length === 0 ? undefined : await changeSandbox(tx, time, id, { ...move, from }, given);
  if (!row) return undefined;
  const { account_id: accountId } = row;
  const { ends = [], begins, audit } = move;
  const until = at !== undefined && at < row.expires_at ? at : row.expires_at;
  const ran = ends.filter((kind) => kind !== 'paused');
  if (ran.length > 0) await endSpansOf(tx, time, id, ran, move.endsInThePast ? until : undefined);
  if (ends.includes('paused')) await endSpansOf(tx, time, id, ['paused']);
  if (begins === 'paused' || (begins === 'running' && row.backend === 'v2')) {
    const bytes = begins === 'paused' ? snapshotBytes : 0;
    await insertSpan(tx, time, { id: randomUUID(), accountId, sandboxId: id, kind: begins, bytes });
  }
  if (audit !== undefined) await insertAudit(tx, lineOf(row, audit, given));
  return row;
}

/**
 * The same for the end of a move that the keeper may have come to first: then only the caller's audit line is written.
 * Throws 404 when the sandbox is in another state by now.
 */
export async function finishIn(
  tx: Db,
  time: Time,
  { accountId, id }: { accountId: string; id: string },
  name: 'paused' | 'resumed',
  given: Given,
): Promise<SandboxRow> {
  const moved = await moveIn(tx, time, id, name, given);
  if (moved) return moved;
  const { to, audit } = sandboxMoves[name];
  const row = await findSandbox(tx, accountId, id);
  if (row?.state !== to) throw notFound('sandbox');
  await insertAudit(tx, lineOf(row, audit, given));
  return row;
}

const lineOf = (row: SandboxRow, action: string, { by, detail }: Given) => ({
  accountId: row.account_id,
  by,
  sandboxId: row.id,
  action,
  ...(detail && { detail: detail(row) }),
});
