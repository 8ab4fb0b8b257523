import { Counter } from './counts.ts';
import { wordsOf } from './attempt.ts';
import { control, databaseFaults, type DatabaseFault, hitDatabase } from './faults.database.ts';
import { type Outcome, outcomeOf, tally } from './findings.ts';
import { writing } from './operations.ts';
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
  /** Says what happens as it happens. */
  readonly tell?: (line: string) => void;
}

/** A request of so many statements is counted wrong. */
const mostStatements = 60;

/** Tries faults at every place of every operation that writes. */
export async function faults(choice: Choice = {}): Promise<Outcome> {
  const outcome = outcomeOf('faults');
  const queue = writing().filter((one) => choice.only === undefined || choice.only === one);
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
  const kinds = databaseFaults.filter((kind) => choice.kind === undefined || choice.kind.split(',').includes(kind));
  for (const kind of kinds) await tryKind(world, { counter, id, wanted }, kind, { outcome, choice });
}

async function tryKind(
  world: World,
  parts: Parameters<typeof hitDatabase>[1],
  kind: DatabaseFault,
  { outcome, choice }: { outcome: Outcome; choice: Choice },
): Promise<void> {
  const { id } = parts;
  for (let nth = choice.nth ?? 1; nth <= (choice.nth ?? mostStatements); nth++) {
    const begun = performance.now();
    const { hit, first, last, faults: found } = await hitDatabase(world, parts, kind, nth);
    const seconds = (performance.now() - begun) / 1_000;
    if (seconds > 6)
      choice.tell?.(
        `  slow: ${id} ${kind} ${nth}: ${seconds.toFixed(1)} s ${wordsOf(first)}, then ${wordsOf(last)} [${hit?.slice(0, 100)}]`,
      );
    outcome.cases += 1;
    if (hit !== undefined) {
      outcome.faults += 1;
      tally(outcome, kind);
    }
    const sql = hit?.replaceAll(/\s+/g, ' ').trim().slice(0, 110);
    if (found.length > 0)
      choice.tell?.(`  ${kind} ${nth} [${sql}]: ${wordsOf(first)}, then ${wordsOf(last)}: ${found.join(' | ')}`);
    for (const says of found) {
      const replay = `faults --only ${id} --kind ${kind} --nth ${nth}`;
      outcome.findings.push({ what: `${id}, ${kind} at ${nth}: ${sql ?? 'nothing was hit'}`, says, replay });
    }
    if (hit === undefined) break;
  }
}
