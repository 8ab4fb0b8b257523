import { type Costs, machineSeconds } from './costs.ts';
import type { Outcomes } from './files.ts';

/** Files in the list of the dearest. */
const mostDear = 10;

/** What a run tells of itself beside its outcomes. */
interface About {
  /** Packages and commands that this machine has not. */
  readonly missing: readonly string[];
  /** Further lines, such as what was left out. */
  readonly notes: readonly string[];
  readonly lanes: number;
  /** `machineSeconds` at its begin. */
  readonly begun: number | undefined;
  /** Seconds that the database server of the run has worked; undefined where it had none. */
  readonly ofDatabase: number | undefined;
}

/** What each file took. */
export const costsOf = (outcomes: Outcomes): Costs =>
  new Map([...outcomes].flatMap(([file, { cost }]) => (cost && file !== '' ? [[file, cost]] : [])));

/**
 * The last lines of a run: what it cost, what this machine could not run, each failure with its error, and a line
 * that counts.
 * Answers the status to exit with.
 */
export function report(outcomes: Outcomes, { missing, notes, ...about }: About): number {
  const all = [...outcomes.values()];
  const failures = all.flatMap((outcome) => outcome.failures);
  const faults = all.flatMap((outcome) => outcome.faults);
  const skips = all.flatMap((outcome) => outcome.skips);
  const passed = all.reduce((sum, outcome) => sum + outcome.passed, 0);
  const failed = failures.length + faults.length;
  const lines = [
    ...costLines(outcomes, about),
    ...notes,
    ...skips.map((line) => `not run here: ${line}`),
    ...missing.map((line) => `missing here: ${line}`),
    ...failures.map((text) => `✖ ${text}`),
    ...faults.map((line) => `failed: ${line}`),
  ];
  for (const line of lines) console.log(line);
  console.log(`${passed} passed, ${failed} failed${skips.length > 0 ? `, ${skips.length} skipped` : ''}`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

/** Processor time is what a slow suite is made of: on a busy machine the clock says little. */
function costLines(outcomes: Outcomes, { lanes, begun, ofDatabase }: Omit<About, 'missing' | 'notes'>): string[] {
  const costs = [...costsOf(outcomes)];
  const ofLanes = costs.reduce((sum, [, { cpu }]) => sum + cpu, 0);
  const end = machineSeconds();
  const ofMachine = begun === undefined || end === undefined ? '' : `${Math.round(end - begun)} s of this machine, `;
  const inDatabase = ofDatabase === undefined ? '' : `, ${Math.round(ofDatabase)} s in their database server`;
  const dear = costs.toSorted(([, a], [, b]) => b.cpu - a.cpu).slice(0, mostDear);
  return [
    `processor time: ${ofMachine}${Math.round(ofLanes)} s in tests and what they started${inDatabase}; ${Math.round(performance.now() / 1000)} s passed in ${lanes} lanes`,
    ...dear.map(([file, { wall, cpu }]) => `dearest: ${file}: ${cpu.toFixed(1)} s of processors, ${wall.toFixed(1)} s`),
  ];
}
