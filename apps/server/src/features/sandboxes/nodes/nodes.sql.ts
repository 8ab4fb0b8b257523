import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { sandboxStates } from '../sandboxes.states.ts';
import { type Claim, isSameNode, own } from './clones.sql.ts';

/** A node that nobody has seen for so long gives its place to one of another machine. */
const placeSeconds = 60;
/** Gateways beside a node see it every 5 s: one of another machine does not miss it sooner. */
const seenSeconds = 15;

/** Whether `n` holds what runs or waits. */
const holds = (db: Db) => db`exists (
  select from sandboxes.sandboxes s where s.node_id = n.id
    and s.state in ${sandboxStates.sql('live')(db)})`;

/**
 * Whether `n`, which holds nothing, is still a node of the platform: not one that was refused, which its operator may have taken
 * away as advised, and no other one was there later, such as a new one of the same machine.
 */
const isLatest = (db: Db) => db`n.refused_at is null and not exists (
  select from sandboxes.nodes later
  where later.id <> n.id and later.refused_at is null and later.seen_at > n.seen_at)`;

/** See `saveNode`. */
interface Saved {
  /** When it was seen before, if nobody saw it for half a minute since. */
  unseenSince: string | undefined;
  /** The machine that sandboxes go to, where this node is refused. */
  refusedFor: string | undefined;
  /** It was taken for a clone before. */
  wasClone: boolean;
}

/**
 * Undefined: another process is the node of this id (`isSameNode`). Otherwise:
 * A node was reached from the machine it runs on, or registers; `works` says whether by a process that does what is due. It is
 * refused while a node of another machine is there that was first: gateways dial a path on their own machine only. That one loses its place when this one is seen for
 * 60 s more: while neither was seen, as without the database, nobody knows which is gone. One that holds nothing gives it at once
 * to a new node at its address on a machine of its name, which is that machine after a restart.
 */
export async function saveNode(db: Db, time: Time, node: Claim & { works: boolean }): Promise<Saved | undefined> {
  const { id, address, machine, works, incarnation } = node;
  const now = nowOf(db, time);
  const limit = db`make_interval(secs => ${placeSeconds})`;
  const [row] = await db<{ unseen_since: string | null; refused_for: string | null; was_clone: boolean }[]>`
    with before as (
      select seen_at, case when refused_at is null and not exists (
        select from sandboxes.nodes o where o.id <> own.id and o.machine <> ${machine.id} and o.refused_at is null
          and o.seen_at > own.seen_at + ${limit}) then taken_at end as taken_at
      from sandboxes.nodes own where id = ${id}),
    first as (
      select machine_name from sandboxes.nodes n left join before on true
      where n.id <> ${id} and machine <> ${machine.id} and refused_at is null
        and (n.seen_at > ${now} - ${limit} or n.seen_at > before.seen_at - ${limit} and n.seen_at < before.seen_at + ${limit})
        and (n.taken_at, n.id) < (coalesce(before.taken_at, ${now}), ${id}::uuid)
        and not (machine_name = ${machine.name} and address = ${address}
          and n.seen_at < ${now} - make_interval(secs => ${seenSeconds}) and not ${holds(db)})
      order by n.taken_at limit 1)
    insert into sandboxes.nodes (id, address, seen_at, machine, machine_name, taken_at, refused_at, worked_at, incarnation)
    values (${id}, ${address}, ${now}, ${machine.id}, ${machine.name}, ${now},
      case when exists (select from first) then ${now} end, case when ${works}::boolean then ${now} end,
      ${incarnation ?? null})
    on conflict (id) do update set address = excluded.address, seen_at = excluded.seen_at, missing_since = null,
      machine = excluded.machine, machine_name = excluded.machine_name, refused_at = excluded.refused_at,
      worked_at = coalesce(excluded.worked_at, nodes.worked_at),
      taken_at = coalesce((select taken_at from before), excluded.taken_at), incarnation = excluded.incarnation
      where ${isSameNode(db, time, node)}
    returning (select seen_at from before where seen_at < ${now} - interval '30 seconds') as unseen_since,
      (select machine_name from first) as refused_for,
      exists (select from sandboxes.clones where node_id = nodes.id and incarnation = ${own(db, node)}) as was_clone`;
  if (!row) return undefined;
  const { unseen_since: unseenSince, refused_for: refusedFor, was_clone: wasClone } = row;
  return { unseenSince: unseenSince ?? undefined, refusedFor: refusedFor ?? undefined, wasClone };
}

/**
 * A node was not reached; answers for how long, in milliseconds, and when it was seen last. One that this process never reached
 * is missed only once nobody else sees it: undefined until then.
 */
export async function noteMissing(
  db: Db,
  time: Time,
  id: string,
  wasReached: boolean,
): Promise<{ ms: number; seenAt: string } | undefined> {
  const now = nowOf(db, time);
  const [row] = await db<{ ms: number; seen_at: string }[]>`
    update sandboxes.nodes set missing_since = coalesce(missing_since, ${now})
    where id = ${id} and (${wasReached}::boolean or seen_at < ${now} - make_interval(secs => ${seenSeconds}))
    returning floor(extract(epoch from ${now} - missing_since) * 1000)::bigint as ms, seen_at`;
  return row && { ms: row.ms, seenAt: row.seen_at };
}

/** A node that no gateway has reached for a while. */
interface LostNode {
  id: string;
  machine_name: string | null;
  seconds: number;
  /** Sandboxes that wait for it. */
  paused: number;
}

/**
 * Nodes that no gateway has reached for so long; those that hold nothing are left out after a day, where another one is in place,
 * where they were refused, and of `without`: a machine that is set to have none.
 */
export async function listLostNodes(db: Db, longerMs: number, without?: string): Promise<LostNode[]> {
  return db`
    select n.id, n.machine_name, extract(epoch from now() - n.missing_since)::float8 as seconds, s.paused
    from sandboxes.nodes n cross join lateral (
      select count(*)::int as paused from sandboxes.sandboxes where node_id = n.id and state = 'paused') s
    where n.missing_since < now() - make_interval(secs => ${longerMs / 1000})
      and (s.paused > 0 or n.seen_at > now() - interval '1 day' and (${holds(db)}
        or ${isLatest(db)} and (coalesce(n.machine, ${without ?? null}) = ${without ?? null}) is not true))
    order by n.id limit 20`;
}

/** A node as the database has it. */
export interface NodeRow {
  id: string;
  address: string;
  /** Undefined before a gateway of this release has reached it. */
  machine: string | null;
  machine_name: string | null;
  /** Seen a moment ago, from anywhere. */
  seen: boolean;
  /** A process that does what is due by the clock saw it a moment ago. */
  works: boolean;
  refused: boolean;
  /** Seen within a day. */
  recent: boolean;
  /** Sandboxes run or wait there. */
  holds: boolean;
  /** It belongs to the platform: seen within a day, and something is on it, or it is no refused one and none was there later. */
  expected: boolean;
}

export async function listNodes(db: Db, time: Time): Promise<NodeRow[]> {
  const since = db`${nowOf(db, time)} - make_interval(secs => ${seenSeconds})`;
  return db`
    select n.id, n.address, n.machine, n.machine_name, n.seen_at > ${since} as seen,
      coalesce(n.worked_at > ${since}, false) as works, n.refused_at is not null as refused, recent, holds,
      recent and (holds or ${isLatest(db)}) as expected
    from sandboxes.nodes n cross join lateral (
      select n.seen_at > ${nowOf(db, time)} - interval '1 day' as recent, ${holds(db)} as holds) l
    order by n.id`;
}

/** Nodes that are there and refused, with their machine and the one that has the sandboxes. */
export async function listRefusedNodes(db: Db): Promise<{ id: string; machine: string; first: string }[]> {
  return db`
    select n.id, n.machine_name as machine, coalesce(f.machine_name, '') as first
    from sandboxes.nodes n left join lateral (
      select machine_name from sandboxes.nodes
      where refused_at is null and machine <> n.machine order by seen_at desc limit 1) f on true
    where n.refused_at is not null and n.seen_at > now() - make_interval(secs => ${placeSeconds}) order by n.id limit 20`;
}

/** Machines whose nodes are there and used, where none of this machine is, nor `reached`, which answers here; otherwise none. */
export async function listMachinesElsewhere(db: Db, machine: string, reached?: string): Promise<string[]> {
  const rows = await db<{ name: string; here: boolean }[]>`
    select machine_name as name, (machine = ${machine} or id = ${reached ?? null}) is true as here from sandboxes.nodes
    where machine is not null and refused_at is null and seen_at > now() - make_interval(secs => ${placeSeconds})
    order by machine_name limit 20`;
  return rows.some(({ here }) => here) ? [] : [...new Set(rows.map(({ name }) => name))];
}
