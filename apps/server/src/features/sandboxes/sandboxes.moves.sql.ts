import { type Db, type Fragment, nowOf, type Time } from '../../kernel/db/db.ts';
import type { Said } from '../../kernel/machine.ts';
import type { SpanKind } from '../metering/index.ts';
import { columns, type SandboxRow } from './sandboxes.sql.ts';
import type { State } from './sandboxes.states.ts';
import type { NewSandboxEvent } from './shown/events.sql.ts';

/** Asked by the statement that moves: others change the row meanwhile. */
export interface Guard extends Said {
  readonly holds: (db: Db, now: Fragment) => Fragment;
}

/** The changes that a move makes besides the state. */
export interface Effect extends Said {
  /** Columns, in the statement that moves. */
  readonly columns?: (db: Db, now: Fragment, made: Made) => Fragment | undefined;
  /** Spans of these kinds end; `inThePast`: with the lifetime, or when the sandbox was seen last, if that was before. */
  readonly ends?: { readonly kinds: readonly SpanKind[]; readonly inThePast: boolean };
  /** A span of this kind begins; `running` is metered for v2 only. */
  readonly begins?: 'running' | 'paused';
  /** The action of its line in the audit log. */
  readonly audit?: string;
  /** It stands among the events of the sandbox, or of the one that it was forked from. */
  readonly logs?: (row: SandboxRow, made: Made) => readonly NewSandboxEvent[];
  /** Those who follow the account's sandboxes are told. */
  readonly tells?: 'created' | 'updated';
}

/** The node's report on a sandbox that it made, paused or resumed, and the lifetime that its owner sets. */
export interface Made {
  restored?: boolean;
  imageDigest?: string;
  snapshotBytes?: number;
  ttlSeconds?: number;
  /** Why it ended, for its events. */
  reason?: 'ended' | 'node_lost' | 'suspended';
  /** Why it could not be paused or resumed, for its events: what the caller is answered. */
  failure?: unknown;
}

export const isDue: Guard = { says: 'its lifetime is over', holds: (db, now) => db`expires_at <= ${now}` };
export const isIdle: Guard = {
  says: 'no command holds it',
  holds: (db, now) => db`coalesce(busy_until <= ${now}, true)`,
};
export const isV2: Guard = { says: 'it is v2', holds: (db) => db`backend = 'v2'` };

const from = (db: Db, now: Fragment, seconds: Fragment) =>
  db`date_trunc('milliseconds', ${now}) + make_interval(secs => ${seconds})`;
const wanted = (db: Db, { ttlSeconds = 0 }: Made) => db`${ttlSeconds}::bigint`;

export const frozen: Effect = {
  says: 'lifetime frozen',
  columns: (db, now) => db`ttl_left_ms = greatest(0, floor(extract(epoch from expires_at - ${now}) * 1000))::bigint`,
};
export const thawed: Effect = {
  says: 'lifetime goes on',
  columns: (db, now) =>
    db`ttl_left_ms = null, expires_at = greatest(expires_at, ${from(db, now, db`ttl_left_ms / 1000.0`)})`,
};
export const extended: Effect = {
  says: 'lifetime at least as long as wanted',
  columns: (db, now, made) => db`expires_at = greatest(expires_at, ${from(db, now, wanted(db, made))})`,
};
export const set: Effect = {
  says: 'lifetime as wanted',
  columns: (db, now, made) =>
    made.ttlSeconds === undefined ? undefined : db`expires_at = ${from(db, now, wanted(db, made))}`,
};
export const setLeft: Effect = {
  says: 'what is left of its lifetime as wanted',
  columns: (db, now, made) =>
    made.ttlSeconds === undefined
      ? undefined
      : db`ttl_left_ms = 1000 * ${wanted(db, made)}, expires_at = ${from(db, now, wanted(db, made))}`,
};
export const snapshotKept: Effect = {
  says: 'snapshot bytes',
  columns: (db, _, { snapshotBytes = 0 }) => db`snapshot_bytes = ${snapshotBytes}::bigint`,
};
export const snapshotDropped: Effect = { says: 'no snapshot', columns: (db) => db`snapshot_bytes = null` };

/** Changes a sandbox as a move of the table says (sandboxes.moves.ts); undefined when its guards do not hold. */
export async function changeSandbox(
  db: Db,
  time: Time,
  id: string,
  move: { from: readonly State[]; to: State; guards: readonly Guard[]; effects: readonly Effect[] },
  made: Made,
): Promise<SandboxRow | undefined> {
  const now = nowOf(db, time);
  const sets = move.effects.map((effect) => effect.columns?.(db, now, made)).filter((part) => part !== undefined);
  const [row] = await db<SandboxRow[]>`
    update sandboxes.sandboxes set state = ${move.to}, moved_at = ${now},
      restored = coalesce(${made.restored ?? null}::boolean, restored),
      image_digest = coalesce(${made.imageDigest ?? null}::text, image_digest)
      ${[db``, ...sets.map((part) => db`, ${part}`)]}
    where id = ${id} and state = any(${[...move.from]})
      ${[db``, ...move.guards.map(({ holds }) => db`and ${holds(db, now)}`)]}
    returning ${columns(db)}`;
  return row;
}
