import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Family, type Member } from './family.ts';

/** A message of a lane's process. */
export type Message =
  /** It lives: no test blocks it. */
  | { type: 'alive' }
  | { type: 'start'; name: string; file: string }
  | { type: 'pass' }
  | { type: 'fail'; text: string }
  | { type: 'skip'; text: string }
  /** The last test is over. */
  | { type: 'over' }
  /** The things that were still open some time later; the processes among them. */
  | { type: 'open'; things: string[]; pids: number[] };

/** Result of some test files. */
export interface Outcome {
  passed: number;
  failed: number;
  /** Each failed test with its error: a reader of the last lines alone sees why. */
  failures: string[];
  /** A line for each test that was not run. */
  skips: string[];
  /** A line for each thing that failed beside the tests: what was left open, a process that hung or broke. */
  faults: string[];
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

/** A process that names what it left open needs this long for it. */
const lastWordsMs = 1_500;

/** Runs test files in one process of their own. It ends, and all that it started, whatever the tests do. */
export async function runFiles(
  files: readonly string[],
  options: { root: string; out: Writable; limits: Limits; families: Set<Family> },
): Promise<Outcome> {
  const { root, out, limits, families } = options;
  const paths = files.map((file) => join(root, file));
  const child = fork(join(import.meta.dirname, 'lane.ts'), [root, String(limits.endMs), ...paths], {
    execArgv: ['--disable-warning=ExperimentalWarning', `--test-timeout=${limits.testMs}`],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const family = new Family(child.pid ?? 0);
  families.add(family);
  child.stdout?.pipe(out, { end: false });
  const closed = once(child, 'close');
  const { outcome, named, overAt } = await follow(child, limits, files.length === 1 ? files[0] : undefined);
  if (overAt === undefined) family.kill();
  const left = await endOf(family, (overAt ?? 0) + limits.endMs);
  for (const { pid, command } of rootsOf(left)) {
    if (!named.includes(pid)) outcome.faults.push(`${files.join(', ')}: left running: process ${pid}: ${command}`);
  }
  family.kill();
  families.delete(family);
  await Promise.race([closed, delay(lastWordsMs, undefined, { ref: false })]);
  child.stdout?.destroy();
  return outcome;
}

/** Hears a lane's process until it ended, and ends it when it hangs. */
async function follow(child: ChildProcess, limits: Limits, only: string | undefined) {
  const outcome: Outcome = { passed: 0, failed: 0, failures: [], skips: [], faults: [] };
  let at = only ?? 'before the first test';
  let overAt: number | undefined;
  let named: number[] = [];
  let deadline: NodeJS.Timeout | undefined;
  const expect = (ms: number, fault: string): void => {
    clearTimeout(deadline);
    deadline = setTimeout(() => {
      outcome.faults.push(`${at}: ${fault}`);
      child.kill('SIGKILL');
    }, ms);
  };
  const deaf = (): void => expect(limits.deafMs, `its process did not answer for ${limits.deafMs} ms and was ended`);
  deaf();
  child.on('message', (message: Message) => {
    if (overAt === undefined) deaf();
    if (message.type === 'start') at = `${message.file}: ${message.name}`;
    else if (message.type === 'pass') outcome.passed += 1;
    else if (message.type === 'fail') {
      outcome.failed += 1;
      outcome.failures.push(message.text);
    } else if (message.type === 'skip') outcome.skips.push(message.text);
    else if (message.type === 'over') {
      overAt = performance.now();
      expect(limits.endMs + lastWordsMs, 'the process did not end after its last test');
    } else if (message.type === 'open') {
      outcome.faults.push(...message.things);
      named = message.pids;
    }
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(deadline);
  if (overAt === undefined && outcome.faults.length === 0) {
    outcome.faults.push(`${at}: the process ended with ${code ?? signal} in the middle of its tests`);
  }
  return { outcome, named, overAt };
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
