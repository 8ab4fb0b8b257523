import type { MachineId } from '../../../kernel/base/machine-id.ts';
import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { sandboxStates } from '../sandboxes.states.ts';

/** Gateways beside a node see it every 5 s: one that nobody saw for so long has ended, or its machine was started anew. */
const seenSeconds = 15;
/** One that nobody saw for so long, and that holds nothing, gives its id to another one. */
const placeSeconds = 60;

/** A process that says it is a node. */
export interface Claim {
  id: string;
  address: string;
  machine: MachineId;
  /** Undefined of a node of the release before: nothing is known of its process. */
  incarnation: string | undefined;
  /** Those before it on its directory. */
  earlier: readonly string[];
  /** The one that this gateway saw last at this address: it has ended, as one process listens there. */
  seenHere: string | undefined;
}

/** This process, and those before it. */
export const own = (db: Db, { incarnation, earlier }: Claim) =>
  db`any(${[...earlier, ...(incarnation === undefined ? [] : [incarnation])]}::text[])`;

/** Whether a node of its id was seen after this one came: both live, and this one's directory is a copy. */
const isClone = (db: Db, claim: Claim) => db`exists (
  select from sandboxes.clones c
  where c.node_id = nodes.id and c.incarnation = ${own(db, claim)} and c.since < nodes.seen_at)`;

/**
 * Whether the row `nodes` of this id is that of the process which claims it: the same one, or one that goes on where it ended. A copy
 * may have the id when the other one was not seen for a while, and nothing waits for it.
 */
export const isSameNode = (db: Db, time: Time, claim: Claim) => {
  const { incarnation, seenHere, machine, address } = claim;
  const unseenFor = (seconds: number) => db`nodes.seen_at < ${nowOf(db, time)} - make_interval(secs => ${seconds})`;
  return db`(nodes.incarnation is null or ${incarnation ?? null}::text is null
    or nodes.incarnation in (${incarnation ?? null}, ${seenHere ?? null})
    or nodes.machine = ${machine.id} and nodes.address = ${address}
    or nodes.incarnation = ${own(db, claim)} and ${unseenFor(seenSeconds)} and not ${isClone(db, claim)}
    or ${unseenFor(placeSeconds)} and not exists (
      select from sandboxes.sandboxes s where s.node_id = nodes.id and s.state in ${sandboxStates.sql('live')(db)})
    or ${unseenFor(86_400)})`;
};

/** Another process has the id of this one: it waits until that is unseen. Answers the machine of one that lives, if it does. */
export async function noteClone(db: Db, time: Time, claim: Claim): Promise<{ livesOn: string | undefined }> {
  const now = nowOf(db, time);
  const { id, machine, incarnation = '' } = claim;
  const [row] = await db<{ lives_on: string | null }[]>`
    with known as (
      select min(since) as since from sandboxes.clones where node_id = ${id} and incarnation = ${own(db, claim)}),
    gone as (
      delete from sandboxes.clones where node_id = ${id} and incarnation <> ${incarnation}
        and (incarnation = ${own(db, claim)} or seen_at < ${now} - interval '30 days')),
    -- Gateways beside it tell of it at the same instant, and of its processes in any order.
    noted as (
      insert into sandboxes.clones as c (node_id, incarnation, machine_name, since, seen_at)
      select ${id}, ${incarnation}, ${machine.name}, coalesce(known.since, ${now}), ${now} from known
      on conflict (node_id, incarnation) do update set since = least(c.since, excluded.since),
        seen_at = excluded.seen_at, machine_name = excluded.machine_name)
    select case when exists (select from known where since < n.seen_at) then coalesce(n.machine_name, '') end as lives_on
    from sandboxes.nodes n where n.id = ${id}`;
  return { livesOn: row?.lives_on ?? undefined };
}

/** The process has its id for itself. */
export async function forgetClone(db: Db, claim: Claim): Promise<void> {
  await db`delete from sandboxes.clones where node_id = ${claim.id} and incarnation = ${own(db, claim)}`;
}

/** Clones that were there a moment ago, of nodes that live: with their machine, and that of the one that goes on. */
export async function listClones(db: Db, time: Time): Promise<{ id: string; machine: string; first: string }[]> {
  return db`
    select c.node_id as id, c.machine_name as machine, coalesce(n.machine_name, '') as first
    from sandboxes.clones c join sandboxes.nodes n on n.id = c.node_id
    where c.since < n.seen_at and c.seen_at > ${nowOf(db, time)} - make_interval(secs => ${placeSeconds})
    order by c.node_id, c.since limit 20`;
}

/** How many clones of a node that lives were there a moment ago, and within a day. */
export async function countClones(db: Db, time: Time): Promise<{ now: number; ofDay: number }> {
  const now = nowOf(db, time);
  const [row] = await db<{ now: number; of_day: number }[]>`
    select count(*) filter (where c.seen_at > ${now} - make_interval(secs => ${placeSeconds}))::int as now, count(*)::int as of_day
    from sandboxes.clones c join sandboxes.nodes n on n.id = c.node_id
    where c.since < n.seen_at and c.seen_at > ${now} - interval '1 day'`;
  return { now: row?.now ?? 0, ofDay: row?.of_day ?? 0 };
}

/** After a restore: each node is what comes first with its id, since the directory is made anew. */
export async function forgetIncarnations(db: Db): Promise<void> {
  await db`delete from sandboxes.clones`;
  await db`update sandboxes.nodes set incarnation = null`;
}
