import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { openAccount } from './account.ts';
import type { Cost } from './costs.ts';
import { Family, type Member } from './family.ts';
import { functionsIn } from './reach.ts';

/** A message of a lane's process. */
export type Message =
  /** It lives: no test blocks it. */
  | { type: 'alive' }
  | { type: 'start'; name: string; file: string }
  | { type: 'pass'; file: string }
  | { type: 'fail'; file: string; text: string }
  | { type: 'skip'; file: string; text: string }
  /** The functions of sources that a file ran. */
  | { type: 'ran'; file: string; functions: string[] }
  /** What a file took, in seconds. */
  | { type: 'cost'; file: string; wall: number; cpu: number }
  /** The last test is over. */
  | { type: 'over' }
  /** The things that were still open some time later; the processes among them. */
  | { type: 'open'; things: { file: string; text: string }[]; pids: number[] };

/** What a lane's process is sent before it begins. */
export interface Work {
  /** The directory that paths are told from. */
  root: string;
  /** How long this process may go on after the last test. */
  endMs: number;
  files: readonly string[];
  /**
   * Where its processor time and that of all that it starts is counted; unset: where the system keeps no such account.
   */
  account?: string;
}

/** Result of a test file. */
export interface Outcome {
  passed: number;
  /** Each failed test with its error: a reader of the last lines alone sees why. */
  failures: string[];
  /** A line for each test that was not run. */
  skips: string[];
  /** A line for each thing that failed beside the tests: what was left open, a process that hung or broke. */
  faults: string[];
  /** What it took; none was told where its process broke. */
  cost?: Cost;
  /** The functions of sources that it ran, where that was recorded. */
  ran?: Set<string>;
}

/** Results by path; what belongs to no file that was given stands under the empty path. */
export type Outcomes = Map<string, Outcome>;

/** A file's result, which is begun when nothing was heard of it. */
export function outcomeOf(outcomes: Outcomes, file: string): Outcome {
  const outcome = outcomes.get(file) ?? { passed: 0, failures: [], skips: [], faults: [] };
  outcomes.set(file, outcome);
  return outcome;
}

/** Times, in milliseconds. */
interface Limits {
  /** Of a test, and of a hook; a test's own `timeout` comes before it. */
  testMs: number;
  /** From the last test until all that it opened is closed. */
  endMs: number;
  /** How long a process may be deaf, in an endless loop for example. */
  deafMs: number;
}

/** A process that loads its modules is not heard meanwhile. */
const loadMs = 60_000;
/** A process that names what it left open, or writes what it compiled at its end, needs this long on a busy machine. */
const exitMs = 15_000;
/**
 * Programs that were told to end are waited for so many times longer than what a test itself left open: beside other work a
 * database outlived its test by ten seconds.
 */
const slowEnds = 4;
/** What it wrote is read to its end within this. */
const lastWordsMs = 1_500;

/**
 * Runs test files in one process of their own. It ends, and all that it started, whatever the tests do. With `pattern` only
 * tests whose names match it; `reach` is a folder, where it is to be recorded which functions run.
 */
export async function runFiles(
  files: readonly string[],
  options: { root: string; out: Writable; limits: Limits; families: Set<Family>; pattern?: string; reach?: string },
): Promise<Outcomes> {
  const { root, out, limits, families, pattern, reach } = options;
  const paths = files.map((file) => join(root, file));
  const child = fork(join(import.meta.dirname, 'lane.ts'), {
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      '--max-semi-space-size=32',
      `--test-timeout=${limits.testMs}`,
      ...(pattern === undefined ? [] : [`--test-name-pattern=${pattern}`]),
    ],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    ...(reach !== undefined && { env: { ...process.env, SVC_TEST_REACH: reach } }),
  });
  const family = new Family(child.pid ?? 0);
  families.add(family);
  const account = openAccount(child.pid ?? 0);
  const work: Work = { root, endMs: limits.endMs, files: paths, ...(account && { account: account.path }) };
  child.send(work);
  child.stdout?.pipe(out, { end: false });
  const closed = once(child, 'close');
  const { outcomes, named, overAt } = await follow(child, limits, files);
  if (overAt === undefined) family.kill();
  const left = await endOf(family, (overAt ?? 0) + limits.endMs * slowEnds);
  for (const { pid, command } of rootsOf(left)) {
    if (named.includes(pid)) continue;
    const { faults } = outcomeOf(outcomes, onlyOf(files));
    faults.push(`${files.join(', ')}: left running: process ${pid}: ${command}`);
  }
  family.kill();
  families.delete(family);
  await Promise.race([closed, delay(lastWordsMs, undefined, { ref: false })]);
  account?.close();
  child.stdout?.destroy();
  if (reach !== undefined) {
    const ofPrograms = functionsIn(root, reach);
    for (const file of files) for (const each of ofPrograms) (outcomeOf(outcomes, file).ran ??= new Set()).add(each);
  }
  return outcomes;
}

/** Where no file can be named: the one there is, or none. */
const onlyOf = (files: readonly string[]): string => (files.length === 1 ? (files[0] ?? '') : '');

/** Hears a lane's process until it ended, and ends it when it hangs. */
async function follow(child: ChildProcess, limits: Limits, files: readonly string[]) {
  const outcomes: Outcomes = new Map();
  // A test that a helper declares is of the file that called it, which is known where there is one alone.
  const of = (file: string): Outcome => outcomeOf(outcomes, files.includes(file) ? file : onlyOf(files));
  let at = { file: onlyOf(files), name: 'before the first test' };
  let overAt: number | undefined;
  let named: number[] = [];
  let isFaulty = false;
  let deadline: NodeJS.Timeout | undefined;
  const fault = (text: string): void => {
    isFaulty = true;
    of(at.file).faults.push(`${at.file}: ${at.name}: ${text}`);
  };
  const expect = (ms: number, text: string): void => {
    clearTimeout(deadline);
    deadline = setTimeout(() => {
      fault(text);
      child.kill('SIGKILL');
    }, ms);
  };
  const deaf = (ms = limits.deafMs): void => expect(ms, `its process did not answer for ${ms} ms and was ended`);
  deaf(Math.max(limits.deafMs, loadMs));
  child.on('message', (message: Message) => {
    if (overAt === undefined) deaf();
    if (message.type === 'start')
      at = { file: files.includes(message.file) ? message.file : at.file, name: message.name };
    else if (message.type === 'pass') of(message.file).passed += 1;
    else if (message.type === 'fail') {
      of(message.file).failures.push(message.text);
      // Reports come a lane after the other, at the end: who watches a run, or finds it cut off, reads it here.
      process.stderr.write(`✖ ${message.text}\n`);
    } else if (message.type === 'skip') of(message.file).skips.push(message.text);
    else if (message.type === 'ran') of(message.file).ran = new Set(message.functions);
    else if (message.type === 'cost') of(message.file).cost = { wall: message.wall, cpu: message.cpu };
    else if (message.type === 'over') {
      overAt = performance.now();
      expect(limits.endMs + exitMs, 'the process did not end after its last test');
    } else if (message.type === 'open') {
      for (const { file, text } of message.things) of(file).faults.push(text);
      named = message.pids;
    }
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(deadline);
  if (overAt === undefined) {
    if (!isFaulty) fault(`the process ended with ${code ?? signal} in the middle of its tests`);
    for (const file of files.slice(files.indexOf(at.file) + 1)) of(file).faults.push(`${file}: was not begun`);
  }
  return { outcomes, named, overAt };
}

/** Waits until a family has ended, at most until a time; answers who is left. */
async function endOf(family: Family, until: number): Promise<Member[]> {
  for (;;) {
    const living = family.living();
    if (living.length === 0 || performance.now() >= until) return living;
    await delay(50);
  }
}

/** Those whose parent is not among them: a platform with its database and its node is one. */
function rootsOf(members: readonly Member[]): Member[] {
  const pids = new Set(members.map(({ pid }) => pid));
  return members.filter(({ parent }) => !pids.has(parent));
}
