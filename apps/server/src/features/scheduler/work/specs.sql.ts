import { createHash } from 'node:crypto';
import type { Db } from '../../../kernel/db/db.ts';

/** From here on a spec stands once for all runs of its schedule that wait or run; a shorter one stands in each. */
const longBytes = 2_048;

/** Whose runs are stored with a spec. */
interface Owner {
  account_id: string;
  schedule_id: string;
}

/** A run, as far as its spec matters. */
interface Carrier {
  schedule_id: string;
  spec: Record<string, unknown>;
  spec_hash: Buffer | null;
}

/** How a run's row carries its spec. */
interface Carried {
  spec: Record<string, unknown>;
  spec_hash: string | null;
}

/** Stores the long ones of these specs; answers, in their order, what rows of runs carry. The schedules are locked. */
export async function storeSpecs(
  db: Db,
  specs: readonly (Owner & { spec: Record<string, unknown> })[],
  now: string,
): Promise<Carried[]> {
  // Runs of one schedule share the object: it is written once, however many there are.
  const known = new Map<object, { text: string; hash: string } | undefined>();
  const longs = new Map<string, Owner & { hash: string; spec: string }>();
  const carried = specs.map(({ account_id, schedule_id, spec }): Carried => {
    if (!known.has(spec)) known.set(spec, longOf(spec));
    const long = known.get(spec);
    if (!long) return { spec, spec_hash: null };
    const { hash, text } = long;
    longs.set(schedule_id + hash, { account_id, schedule_id, hash, spec: text });
    return { spec: {}, spec_hash: hash };
  });
  for (const { account_id, schedule_id, hash, spec } of longs.values()) {
    // Looked for first: of a megabyte that is there nothing is sent again.
    const { count } = await db`
      update scheduler.specs set used_at = ${now} where schedule_id = ${schedule_id} and hash = decode(${hash}, 'hex')`;
    if (count > 0) continue;
    await db`
      insert into scheduler.specs (account_id, schedule_id, hash, spec, used_at)
      values (${account_id}, ${schedule_id}, decode(${hash}, 'hex'), ${spec}, ${now})
      on conflict (schedule_id, hash) do update set used_at = excluded.used_at`;
  }
  return carried;
}

function longOf(spec: Record<string, unknown>): { text: string; hash: string } | undefined {
  const text = JSON.stringify(spec);
  if (text.length < longBytes) return undefined;
  return { text, hash: createHash('sha256').update(text).digest('hex') };
}

/**
 * The spec of a run; undefined when the run is over and its spec forgotten. A statement of its own: one that waits for a run's
 * lock sees the run after an edit, but the specs from before it.
 */
export async function findSpec(db: Db, run: Carrier): Promise<Record<string, unknown> | undefined> {
  if (run.spec_hash === null) return run.spec;
  const [row] = await db<{ spec: Record<string, unknown> }[]>`
    select spec from scheduler.specs where schedule_id = ${run.schedule_id} and hash = ${run.spec_hash}`;
  return row?.spec;
}

/** Drops what no run of a schedule carries any more. The schedule is locked. */
export async function dropUnusedSpecs(db: Db, scheduleId: string): Promise<void> {
  await db`delete from scheduler.specs s where s.schedule_id = ${scheduleId} and ${isUnused(db)}`;
}

/**
 * Drops what no run of a schedule carries any more, but for what was stored last: the next run carries that most likely, and
 * a megabyte would be written for each. The sweep takes it where none comes.
 */
export async function dropOldSpecs(db: Db, scheduleId: string): Promise<void> {
  await db`
    delete from scheduler.specs s where s.schedule_id = ${scheduleId} and ${isUnused(db)} and exists (
      select 1 from scheduler.specs o where o.schedule_id = s.schedule_id and o.hash <> s.hash
        and ((o.used_at, o.hash) > (s.used_at, s.hash) or exists (
          select 1 from scheduler.runs r where r.schedule_id = o.schedule_id and r.spec_hash = o.hash)))`;
}

/** Drops what was left: of a slot that had its run already, of schedules that are gone. */
export async function sweepSpecs(db: Db, before: string): Promise<void> {
  await db`delete from scheduler.specs s where s.used_at < ${before} and ${isUnused(db)}`;
}

const isUnused = (db: Db) => db`not exists (
  select 1 from scheduler.runs r where r.schedule_id = s.schedule_id and r.spec_hash = s.hash)`;
