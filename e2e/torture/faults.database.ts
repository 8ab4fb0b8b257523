import { Attempt, type Said, wordsOf } from './attempt.ts';
import { Counter, difference, inWords } from './counts.ts';
import { blobViolations, violations } from './invariants.ts';
import { undocumented } from './operations.ts';
import type { Fate, Statement } from './proxy.ts';
import type { World } from './world.ts';

/** The kinds of faults of the database. */
export const databaseFaults = ['cut', 'lose', 'swallow'] as const satisfies readonly Fate[];
export type DatabaseFault = (typeof databaseFaults)[number];

/** What an operation does when nothing is in its way. */
export interface Control {
  readonly said: Said;
  readonly changes: ReadonlyMap<string, number>;
  /** SQL of the statements that its request sent, in their order. */
  readonly statements: readonly string[];
  /** Invariants that do not hold even so. */
  readonly broken: readonly string[];
}

/** How a case went. */
export interface Tried {
  /** SQL of the statement that was hit; undefined: the request has fewer. */
  readonly hit: string | undefined;
  readonly first: Said;
  readonly last: Said;
  /** Each is a sentence. */
  readonly faults: string[];
}

/** Statements of requests are told from all others by the name of their pool. */
const isOfRequest = ({ application }: Statement): boolean => application === 'svc requests';

/** What does not hold now, and did before. */
async function newViolations({ sql, helper, known }: World): Promise<string[]> {
  const all = [...(await violations(sql)), ...(await blobViolations(sql, helper.kernel.blobs))];
  const fresh = all.filter((says) => !known.has(says));
  for (const says of fresh) known.add(says);
  return fresh;
}

/** Sends the request with nothing in its way. */
export async function control(world: World, counter: Counter, id: string): Promise<Control> {
  await using attempt = await Attempt.of(world, counter, id);
  const statements: string[] = [];
  world.proxy.decide = (statement) => {
    if (isOfRequest(statement)) statements.push(statement.sql);
    return 'pass';
  };
  const said = await attempt.send();
  world.proxy.decide = () => 'pass';
  const changes = await attempt.changes();
  const broken = await newViolations(world);
  return { said, changes, statements, broken };
}

/** Puts a fault in at the n-th statement of the request, from 1, and looks at what comes of it. */
export async function hitDatabase(
  world: World,
  { counter, id, wanted }: { counter: Counter; id: string; wanted: Control },
  kind: DatabaseFault,
  nth: number,
): Promise<Tried> {
  await using attempt = await Attempt.of(world, counter, id);
  let count = 0;
  let hit: string | undefined;
  world.log();
  world.proxy.decide = (statement) => {
    if (!isOfRequest(statement) || ++count !== nth) return 'pass';
    hit = statement.sql;
    return kind;
  };
  const first = await attempt.send();
  world.proxy.decide = () => 'pass';
  return { hit, first, ...(await judge(world, attempt, { first, wasHit: hit !== undefined, wanted })) };
}

/** Has the client repeat what failed, and says what is wrong then. */
export async function judge(
  world: World,
  attempt: Attempt,
  { first, wasHit, wanted }: { first: Said; wasHit: boolean; wanted: Control },
): Promise<Pick<Tried, 'last' | 'faults'>> {
  const { route } = attempt;
  const faults: string[] = [];
  const odd = first.status === 0 ? undefined : undocumented(route, first.status, first.body);
  if (odd !== undefined) faults.push(`answered with ${odd}: ${world.log().slice(0, 1_500)}`);
  const failed = first.status === 0 || first.status >= 400;
  const last = wasHit && failed ? await attempt.repeat() : first;
  // The client is told that it was done, and where to read what came of it.
  const isTold = last.code === 'answer_not_kept' || (route.method === 'DELETE' && last.status === 404);
  if (last.status !== wanted.said.status && !isTold) {
    faults.push(`the repeat of ${wordsOf(first)} is ${wordsOf(last)}, not ${wordsOf(wanted.said)}`);
  }
  const changes = await attempt.changes(wanted.changes);
  const differs = difference(wanted.changes, changes, last !== first && route.idempotent !== true);
  if (differs !== undefined) {
    faults.push(
      `done otherwise than once: ${differs}, beyond ${inWords(wanted.changes)} (${wordsOf(first)}, ${wordsOf(last)})`,
    );
  }
  faults.push(...(await newViolations(world)));
  return { last, faults };
}
