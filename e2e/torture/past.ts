import { PassThrough } from 'node:stream';
import type { Family } from '../../scripts/test/family.ts';
import { type Outcome as FileOutcome, runFiles } from '../../scripts/test/files.ts';
import { type Outcome, outcomeOf, tally } from './findings.ts';
import { faultsOfHosts } from './past/hosts.ts';
import { faultsOfTheKernel } from './past/kernel.ts';
import type { PastFault } from './past/past.ts';
import { faultsOfRuns } from './past/runs.ts';
import { faultsOfTexts } from './past/texts.ts';
import { occurrences, openTree, type Tree } from './past/tree.ts';

/** Every fault of the past that is put back. */
export const pastFaults: readonly PastFault[] = [
  ...faultsOfTheKernel,
  ...faultsOfRuns,
  ...faultsOfHosts,
  ...faultsOfTexts,
];

const limits = { testMs: 120_000, endMs: 1_000, deafMs: 60_000 };
/** Of a test that waits in vain: many times what it needs with nothing put in. */
const hangMs = 20_000;

/** Which faults, and what is tried. */
export interface PastOptions {
  /** Names, or parts of names, with commas. */
  readonly only?: string | undefined;
  /** The tests run with nothing put in: then they must pass. */
  readonly clean?: boolean;
  readonly lanes?: number;
  readonly tell?: (line: string) => void;
}

/** Says of each fault whose text does not stand in its file exactly once, or whose name is another's too. */
export function checkPast(): Outcome {
  const outcome = outcomeOf('past --check');
  const names = new Set<string>();
  for (const fault of pastFaults) {
    outcome.cases += 1;
    const found = occurrences(fault);
    const says = names.has(fault.name)
      ? 'its name is given twice'
      : found !== 1
        ? `its text stands ${found} times in ${fault.file}`
        : fault.find === fault.replace
          ? 'it changes nothing'
          : undefined;
    names.add(fault.name);
    if (says !== undefined) outcome.findings.push({ what: fault.name, says, replay: 'past --check' });
  }
  return outcome;
}

/** Puts faults back one by one, each in a copy of the repository, and has its test look for it. Needs `openServer`. */
export async function past({ only, clean = false, lanes = 1, tell }: PastOptions = {}): Promise<Outcome> {
  const outcome = outcomeOf(clean ? 'past --clean' : 'past');
  const wanted = only?.split(',');
  const queue = pastFaults.filter(({ name }) => wanted?.some((part) => name.includes(part)) ?? true);
  const lane = async (): Promise<void> => {
    using tree = openTree();
    for (let fault = queue.shift(); fault !== undefined; fault = queue.shift()) {
      const begun = performance.now();
      const says = clean ? await judgeClean(tree, fault) : await judge(tree, fault);
      outcome.cases += 1;
      outcome.faults += clean ? 0 : 1;
      tally(outcome, areaOf(fault));
      tell?.(`${says ?? 'found'} ${fault.name} (${((performance.now() - begun) / 1_000).toFixed(1)} s)`);
      if (says === undefined) continue;
      const what = `${fault.name}: ${fault.was}`;
      outcome.findings.push({ what, says, replay: `past --only ${fault.name}${clean ? ' --clean' : ''}` });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return outcome;
}

/** The feature or package that a fault is of. */
const areaOf = ({ file }: PastFault): string =>
  file
    .split('/')
    .slice(1, 5)
    .join('/')
    .replace(/^server\/src\//, '');

/** Why a fault is not found; undefined: it is. */
async function judge(tree: Tree, fault: PastFault): Promise<string | undefined> {
  using _put = tree.put(fault);
  const { passed, failures, faults } = await run(tree, fault);
  if (failures.some((text) => isOfTest(text, fault))) return undefined;
  const [other] = [...failures, ...faults];
  if (other !== undefined) return `${fault.test} fails elsewhere than in its own lines: ${other.slice(0, 300)}`;
  return passed === 0 ? `${fault.test} has no test that runs` : `${fault.test} passes all the same`;
}

/** A failure that the test means: an assertion of its, an error that its own lines throw, or for those that hang its timeout. */
function isOfTest(failure: string, { test, hangs }: PastFault): boolean {
  if (/AssertionError|ERR_ASSERTION/.test(failure)) return true;
  if (hangs && failure.includes('timed out after')) return true;
  const [first = ''] = /^\s*at .*$/m.exec(failure) ?? [];
  return first.includes(test);
}

async function judgeClean(tree: Tree, fault: PastFault): Promise<string | undefined> {
  const { passed, failures, faults } = await run(tree, fault);
  const [first] = [...failures, ...faults];
  if (first !== undefined) return `${fault.test} fails with nothing put in: ${first.slice(0, 300)}`;
  return passed === 0 ? `${fault.test} has no test that runs` : undefined;
}

async function run({ dir }: Tree, { test, pattern, hangs }: PastFault): Promise<FileOutcome> {
  const families = new Set<Family>();
  const out = new PassThrough();
  out.resume();
  try {
    const options = { root: dir, out, families, limits: { ...limits, ...(hangs && { testMs: hangMs }) } };
    const outcomes = await runFiles([test], { ...options, ...(pattern && { pattern }) });
    const all = [...outcomes.values()];
    return {
      passed: all.reduce((sum, { passed }) => sum + passed, 0),
      failures: all.flatMap(({ failures }) => failures),
      skips: all.flatMap(({ skips }) => skips),
      faults: all.flatMap(({ faults }) => faults),
    };
  } finally {
    for (const family of families) family.killWhole();
  }
}
