import { setTimeout as delay } from 'node:timers/promises';
import { accepted, ofEachRequest } from './accepted.ts';
import { Attempt, type Said, wordsOf } from './attempt.ts';
import { between, type Counter, difference, inWords } from './counts.ts';
import type { Fault } from './fault.ts';
import { isOfRequest } from './faults.database.ts';
import { blobViolations, violations } from './invariants.ts';
import { undocumented } from './operations.ts';
import { givenUpMs, type World } from './world.ts';

/** What an operation does when nothing is in its way. */
export interface Control {
  readonly said: Said;
  changes: ReadonlyMap<string, number>;
  /** SQL of the statements that its request sent, in their order. */
  readonly statements: readonly string[];
  /** Invariants that do not hold even so. */
  readonly broken: readonly string[];
}

/** How a case went. */
interface Tried {
  /** What was hit; undefined: the request does fewer of it. */
  readonly hit: string | undefined;
  readonly first: Said;
  readonly last: Said;
  /** What is wrong, each as a sentence. */
  readonly faults: string[];
}

/** Characters of the gateway's log in a finding. */
const mostOfLog = 1_500;
const lookEveryMs = 10;

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

/** Has the n-th thing of a kind fail that the request does, and looks at what comes of it. */
export async function tryFault(
  world: World,
  { counter, id, wanted }: { counter: Counter; id: string; wanted: Control },
  fault: Fault,
  nth: number,
): Promise<Tried> {
  await using attempt = await Attempt.of(world, counter, id);
  world.log();
  const { first, hit } = await hitOnce(world, attempt, fault, nth);
  return {
    hit,
    first,
    ...(await judge(world, attempt, {
      first,
      wasHit: hit !== undefined,
      wanted,
      isOurs: fault.isOurs === true,
      measureAgain: () => control(world, counter, id),
    })),
  };
}

async function hitOnce(world: World, attempt: Attempt, fault: Fault, nth: number) {
  using armed = fault.arm(world, nth);
  const first = await attempt.send(armed.signal);
  // A request whose client is gone may go on for a moment.
  if (first.status === 0) await attempt.changes();
  return { first, hit: armed.hit() };
}

/**
 * Waits until connections of which nothing is heard were given up: what the request did not wait for may have been swallowed
 * too, and the next case would find its pool full of them.
 */
async function isHeard({ proxy }: World): Promise<boolean> {
  const until = performance.now() + 2 * givenUpMs;
  while (proxy.isSilent() && performance.now() < until) await delay(lookEveryMs);
  return !proxy.isSilent();
}

/**
 * Whether a yardstick that was taken again only has more of the same answer. On a busy machine what follows an answer
 * may come after it was taken; what is missing from it now, the fault has broken for good.
 */
function isLater(before: Control, again: Control): boolean {
  const grew = between(before.changes, again.changes);
  return wordsOf(again.said) === wordsOf(before.said) && [...grew.values()].every((by) => by > 0);
}

interface Judged {
  readonly first: Said;
  readonly wasHit: boolean;
  readonly wanted: Control;
  readonly isOurs: boolean;
  readonly measureAgain: () => Promise<Control>;
}

/** Has the client repeat what failed, and says what is wrong then. */
async function judge(
  world: World,
  attempt: Attempt,
  { first, wasHit, wanted, isOurs, measureAgain }: Judged,
): Promise<Pick<Tried, 'last' | 'faults'>> {
  const { route } = attempt;
  const faults: string[] = [];
  const odd = first.status === 0 ? undefined : undocumented(route, first.status, first.body);
  if (odd !== undefined && !(isOurs && first.code === 'internal_error'))
    faults.push(`answered with ${odd}: ${world.log().slice(0, mostOfLog)}`);
  const failed = first.status === 0 || first.status >= 400;
  const last = wasHit && failed ? await attempt.repeat() : first;
  const may = accepted[attempt.id];
  // The client is told that it was done, and where to read what came of it.
  const isTold = last.code === 'answer_not_kept' || (route.method === 'DELETE' && last.status === 404);
  // What is there already is answered with another status of success than what is new.
  const isSame = last.status === wanted.said.status || (!route.idempotent && last !== first && last.status < 300);
  if (!isSame && !isTold && may?.answers?.includes(wordsOf(last)) !== true) {
    const what = wasHit ? `the repeat of ${wordsOf(first)}` : 'the answer with nothing in its way';
    faults.push(`${what} is ${wordsOf(last)}, not ${wordsOf(wanted.said)}: ${world.log().slice(-mostOfLog)}`);
  }
  const isTwice = last !== first && route.idempotent !== true;
  const limits = {
    twice: new Set([...(isTwice ? ofEachRequest : []), ...(may?.twice ?? [])]),
    missing: new Set(may?.missing),
  };
  const differenceOf = (changes: ReadonlyMap<string, number>) => difference(wanted.changes, changes, limits);
  const changes = await attempt.changes((some) => differenceOf(some) === undefined);
  faults.push(...(await newViolations(world)));
  if (differenceOf(changes) !== undefined) {
    const again = await measureAgain();
    faults.push(...again.broken);
    if (isLater(wanted, again)) wanted.changes = again.changes;
  }
  const differs = differenceOf(changes);
  if (differs !== undefined) {
    faults.push(
      `done otherwise than once: ${differs}, beyond ${inWords(wanted.changes)} (${wordsOf(first)}, ${wordsOf(last)})`,
    );
  }
  if (!(await isHeard(world))) faults.push('a connection of which nothing is heard is never given up');
  return { last, faults };
}
