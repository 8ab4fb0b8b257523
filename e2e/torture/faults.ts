import { randomOf } from '../../apps/server/src/testing.random.ts';
import { Counter } from './counts.ts';
import { wordsOf } from './attempt.ts';
import type { Fault } from './fault.ts';
import { databaseFaults } from './faults.database.ts';
import { fileFaults } from './faults.files.ts';
import { socketFaults } from './faults.sockets.ts';
import { type Outcome, outcomeOf, tally } from './findings.ts';
import { writing } from './operations.ts';
import { type Control, control, tryFault } from './trial.ts';
import { openWorld, type World } from './world.ts';

/** What to try. */
export interface Choice {
  /** An operation; unset: all. */
  readonly only?: string | undefined;
  /** A kind of fault; unset: all. */
  readonly kind?: string | undefined;
  /** The place of the fault alone; unset: every place. */
  readonly nth?: number | undefined;
  /** So many databases at once, with two gateways each. */
  readonly lanes?: number | undefined;
  /** Of each operation one case that follows from this seed. */
  readonly sample?: number | undefined;
  /** Says what happens as it happens. */
  readonly tell?: (line: string) => void;
}

/** No request does more of anything. */
const mostPlaces = 60;
/** A case that takes longer is told of. */
const slowSeconds = 8;
const allFaults: readonly Fault[] = [...databaseFaults, ...fileFaults, ...socketFaults];

/** Tries faults at every place of every operation that writes. */
export async function faults(choice: Choice = {}): Promise<Outcome> {
  const outcome = outcomeOf('faults');
  const queue = writing().filter((one) => choice.only === undefined || choice.only.split(',').includes(one));
  // Each with a database of its own: one request of a victim is under way at a time.
  const lane = async (): Promise<void> => {
    await using world = await openWorld();
    const counter = await Counter.of(world.sql);
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      try {
        await tryOperation(world, counter, id, { outcome, choice });
      } catch (error) {
        outcome.skipped.push(`${id}: ${(error as Error).stack?.slice(0, 600)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(choice.lanes ?? 1, queue.length) }, lane));
  return outcome;
}

async function tryOperation(
  world: World,
  counter: Counter,
  id: string,
  { outcome, choice }: { outcome: Outcome; choice: Choice },
): Promise<void> {
  const wanted = await control(world, counter, id);
  choice.tell?.(`${id}: ${wordsOf(wanted.said)}, ${wanted.statements.length} statements`);
  if (wanted.said.status === 0 || wanted.said.status >= 400) {
    outcome.skipped.push(
      `${id}: answers ${wordsOf(wanted.said)} with nothing in its way ${JSON.stringify(wanted.said.body)}`,
    );
    return;
  }
  for (const says of wanted.broken) {
    choice.tell?.(`  ${id}, untouched: ${says}`);
    outcome.findings.push({ what: `${id}, untouched`, says, replay: `faults --only ${id} --kind none` });
  }
  if (choice.sample !== undefined) {
    const { fault, nth } = sampleOf(id, wanted, choice.sample);
    await tryKind(world, { counter, id, wanted }, fault, { outcome, choice: { ...choice, nth } });
    return;
  }
  const kinds = allFaults.filter(({ name }) => choice.kind === undefined || choice.kind.split(',').includes(name));
  for (const fault of kinds) await tryKind(world, { counter, id, wanted }, fault, { outcome, choice });
}

/** A fault of an operation that follows from a seed. One that swallows takes seconds, and is not among them. */
function sampleOf(id: string, { statements }: Control, seed: number): { fault: Fault; nth: number } {
  const random = randomOf(Buffer.from(id).reduce((sum, byte) => Math.imul(sum, 31) + byte, seed));
  const quick = allFaults.filter(({ name }) => ['cut', 'lose', 'leave'].includes(name));
  return {
    fault: quick[Math.floor(random() * quick.length)] as Fault,
    nth: 1 + Math.floor(random() * Math.max(1, statements.length)),
  };
}

async function tryKind(
  world: World,
  parts: { counter: Counter; id: string; wanted: Control },
  fault: Fault,
  { outcome, choice }: { outcome: Outcome; choice: Choice },
): Promise<void> {
  const { id } = parts;
  const { name } = fault;
  for (let nth = choice.nth ?? 1; nth <= (choice.nth ?? mostPlaces); nth++) {
    const begun = performance.now();
    const { hit, first, last, faults: found } = await tryFault(world, parts, fault, nth);
    const seconds = (performance.now() - begun) / 1_000;
    outcome.cases += 1;
    if (hit !== undefined) {
      outcome.faults += 1;
      tally(outcome, name);
    }
    const at = hit?.replaceAll(/\s+/g, ' ').trim().slice(0, 110);
    const line = `${id} ${name} ${nth} [${at}]: ${wordsOf(first)}, then ${wordsOf(last)}`;
    if (found.length > 0) choice.tell?.(`  ${line}: ${found.join(' | ')}`);
    else if (seconds > slowSeconds) choice.tell?.(`  ${line}: ${seconds.toFixed(1)} s`);
    for (const says of found) {
      const replay = `faults --only ${id} --kind ${name} --nth ${nth}`;
      outcome.findings.push({ what: `${id}, ${name} at ${nth}: ${at ?? 'nothing was hit'}`, says, replay });
    }
    if (hit === undefined) break;
  }
}
