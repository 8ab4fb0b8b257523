import { openDatabase } from '../../apps/server/src/kernel/db/db.ts';
import { randomOf } from '../../apps/server/src/testing.random.ts';
import { type Outcome, outcomeOf, tally } from './findings.ts';
import { type Ending, isOneOf, type Order, play } from './interleave.ts';
import { violations } from './invariants.ts';
import { Side } from './side.ts';
import type { Subject } from './subject.ts';
import { subjectsOf } from './subjects.ts';
import { openWorld, type World } from './world.ts';

/** Which orders to try. */
export interface OrdersChoice {
  /** `schema.table`; unset: all. */
  readonly only?: string | undefined;
  /** A case `state/move+move`; unset: all. */
  readonly of?: string | undefined;
  /** So many cases of each table, chosen by the seed; unset: all. */
  readonly sample?: number | undefined;
  readonly seed?: number;
  readonly tell?: (line: string) => void;
}

/** Two moves of a row in a state. */
interface Case {
  readonly state: string;
  readonly moves: readonly [string, string];
}

/** No transaction of a move has more statements. */
const mostStatements = 60;

/** Every pair of moves from every state in which one of them is possible, or some of them. */
function casesOf({ moves, from }: Subject, { of, sample, seed = 1 }: OrdersChoice): Case[] {
  const all = moves.flatMap((one, n) =>
    moves
      .slice(n)
      .flatMap((other) =>
        [...new Set([...from(one), ...from(other)])].map((state): Case => ({ state, moves: [one, other] })),
      ),
  );
  const named = all.filter((one) => of === undefined || nameOf(one) === of);
  if (sample === undefined || of !== undefined) return named;
  const random = randomOf(seed);
  return named
    .map((one) => ({ one, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .slice(0, sample)
    .map(({ one }) => one);
}

const nameOf = ({ state, moves }: Case): string => `${state}/${moves.join('+')}`;

/** Tries every order of two moves with at most two switches, of every table of moves. */
export async function orders(choice: OrdersChoice = {}): Promise<Outcome> {
  const outcome = outcomeOf('orders');
  await using world = await openWorld({ works: false });
  const { target } = world;
  const watcher = openDatabase(target, 1);
  await using stack = new AsyncDisposableStack();
  stack.adopt(watcher, (pool) => pool.end({ timeout: 1 }));
  const sides = [stack.use(await Side.open(target, watcher)), stack.use(await Side.open(target, watcher))] as const;
  for (const subject of await subjectsOf(world)) {
    if (choice.only !== undefined && choice.only !== subject.table) continue;
    const cases = casesOf(subject, choice);
    choice.tell?.(`${subject.table}: ${cases.length} cases${subject.isSingle ? ', of single statements' : ''}`);
    for (const one of cases) {
      try {
        await tryCase(world, subject, sides, one, { outcome, choice });
      } catch (error) {
        outcome.skipped.push(`${subject.table} ${nameOf(one)}: ${(error as Error).stack?.slice(0, 500)}`);
      }
    }
  }
  return outcome;
}

async function tryCase(
  world: World,
  subject: Subject,
  sides: readonly [Side, Side],
  one: Case,
  { outcome, choice }: { outcome: Outcome; choice: OrdersChoice },
): Promise<void> {
  const serial: Ending[] = [];
  const others: { order: Order; ending: Ending }[] = [];
  outcome.cases += 1;
  tally(outcome, subject.table);
  for (const first of [0, 1] as const) {
    for (let statements = 1; statements <= mostStatements; statements++) {
      const order = { first, statements };
      const played = await play(subject, sides, one, order);
      outcome.faults += played.switches;
      if (played.isSerial) serial.push(played);
      else others.push({ order, ending: played });
      if (played.isSerial) break;
    }
  }
  const found: string[] = [];
  for (const { order, ending } of others) {
    if (isOneOf(serial, ending)) continue;
    const which = `${one.moves[order.first]} stops after ${order.statements} statements`;
    found.push(`${which}: ${JSON.stringify(ending)} is none of ${JSON.stringify(serial)}`);
  }
  for (const says of await violations(world.sql)) {
    if (world.known.has(says)) continue;
    world.known.add(says);
    if (subject.beside?.some((one) => says.includes(one))) continue;
    found.push(says);
  }
  for (const says of found) {
    choice.tell?.(`  ${subject.table} ${nameOf(one)}: ${says}`);
    const replay = `orders --only ${subject.table} --of '${nameOf(one)}'`;
    outcome.findings.push({ what: `${subject.table} ${nameOf(one)}`, says, replay });
  }
}
