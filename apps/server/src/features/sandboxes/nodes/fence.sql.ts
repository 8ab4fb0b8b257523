import type { Db } from '../../../kernel/db/db.ts';

/** A platform that takes a node over is ahead of one that still runs for as many of its turns: 58 days of five seconds. */
const takeoverTurns = 1_000_000;

/** The next turn of this platform at a node; undefined where another platform was found ahead. */
export async function raiseTurn(db: Db, id: string): Promise<number | undefined> {
  const [row] = await db<{ turn: number }[]>`
    update sandboxes.nodes set turn = turn + 1 where id = ${id} and ahead is null returning turn::float8 as turn`;
  return row?.turn;
}

/** A node took a later turn than the one that this platform told it. */
export async function reachTurn(db: Db, id: string, heard: number): Promise<void> {
  await db`update sandboxes.nodes set turn = greatest(turn, ${heard}) where id = ${id}`;
}

/**
 * Keeps that a node refused `turn`, since it had heard another one. False when another gateway of this platform gave that one
 * meanwhile; `turn` itself was given once, so that who else said it has a database of its own.
 */
export async function saveAhead(db: Db, id: string, turn: number, heard: number): Promise<boolean> {
  const rows = await db`
    update sandboxes.nodes set ahead = ${heard}
    where id = ${id} and (turn < ${heard} or ${heard === turn}::boolean) returning 1`;
  return rows.length > 0;
}

/** Nodes at which another platform with the rows of this one is ahead. */
export async function listNodesAhead(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from sandboxes.nodes where ahead is not null order by id limit 20`;
  return rows.map(({ id }) => id);
}

/** Which of these nodes still hear another platform that is ahead. */
export async function aheadOf(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from sandboxes.nodes where id = any(${[...ids]}::uuid[]) and ahead is not null`;
  return rows.map(({ id }) => id);
}

/** Makes this platform the one that its nodes hear; answers how many others are ahead at now. */
export async function takeNodesOver(db: Db): Promise<number> {
  const rows = await db`
    update sandboxes.nodes set turn = ahead + ${takeoverTurns}, ahead = null where ahead is not null returning 1`;
  return rows.length;
}
