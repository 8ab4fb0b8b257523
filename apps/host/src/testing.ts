import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HostOp, type HostOpResult, hostOpNames, hostOps } from '@svc/contract';
import { processStart } from '@svc/process-lock';
import { testedProgram } from '../../../packages/programs/src/testing.ts';
import { createProcessGroups } from './groups.ts';
import { ops } from './ops/index.ts';
import type { OpContext } from './ops/op.ts';
import type { Policy } from './policy.ts';
import { type FakeGateway, testKey } from './testing.gateway.ts';

/** Until when something lasts: a test, or whatever else says when it is over. */
export interface Lifetime {
  after(work: () => unknown): void;
}

/** An empty directory (real path) that goes when the test ends. */
export async function temporaryDirectory(test: Lifetime): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'svc-host-')));
  test.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** Runs an operation; throws when its result is not what the contract says, with a field too many also. */
export async function resultOf<N extends HostOp>(name: N, args: unknown, context: OpContext): Promise<HostOpResult<N>> {
  return hostOps[name].result.strict().parse(await ops[name](args, context)) as HostOpResult<N>;
}

/** The context of an operation that may touch only `root`. */
export function contextOf(root: string, changes: Partial<OpContext> = {}): OpContext {
  const decisions = Object.fromEntries(hostOpNames.map((name) => [name, 'allow'])) as OpContext['policy']['decisions'];
  return {
    signal: new AbortController().signal,
    places: { roots: [root], hidden: [] },
    policy: policyOf({ decisions, roots: [root] }),
    groups: createProcessGroups(),
    scratch: tmpdir(),
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: root },
    killAfterMs: 300,
    name: 'test',
    ...changes,
  };
}

/** A policy that allows everything in no root. */
export function policyOf(changes: Partial<Policy> = {}): Policy {
  const decisions = Object.fromEntries(hostOpNames.map((name) => [name, 'allow'])) as Policy['decisions'];
  const kinds: Policy['kinds'] = ['shell', 'http', 'agent'];
  const environment = { terminal: 'allow', ports: 'published', users: false } as const;
  const none = { name: undefined, tags: [], agent: undefined };
  return { decisions, roots: [], parallel: 4, kinds, ...none, ...environment, ...changes };
}

/** True while a process of that number exists and is no zombie. */
export function isAlive(pid: number): boolean {
  return processStart(pid) !== undefined;
}

/** Waits until `condition` holds; fails after `ms`. For facts of the system that announce themselves in no way. */
export async function until(condition: () => boolean | Promise<boolean>, what: string, ms = 180_000): Promise<void> {
  const begun = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - begun;
    if (waitedMs > ms) throw new Error(`not within ${ms} ms: ${what}`);
    // Looks take what is waited for its processor.
    await new Promise((resolve) => setTimeout(resolve, Math.min(200, Math.max(5, waitedMs / 20))));
  }
}

/** A running `svc host` command. */
export interface HostCommand {
  process: ChildProcess;
  /** Everything written so far. */
  stdout(): string;
  stderr(): string;
  /** Waits until standard output or error holds `text`. */
  says(text: string | RegExp): Promise<void>;
  /** Exit code once it ended; null when a signal ended it. */
  ended: Promise<number | null>;
}

/**
 * Starts `svc host <words>`, or another `program`, as a process of its own, which is killed when the test ends. Other programs
 * have a standard input: `process.stdin`. `through`: the words of a command that becomes it elsewhere, as `ip netns exec` does.
 */
export function startCommand(
  test: Lifetime,
  words: readonly string[],
  env: Record<string, string>,
  program: Program = 'main',
  through: readonly string[] = [],
): HostCommand {
  return startFile(
    test,
    [...through, process.execPath, fileOf(program), ...words],
    env,
    program === 'main' ? 'ignore' : 'pipe',
  );
}

type Program = 'main' | 'env' | 'login';
const fileOf = (program: Program): string => testedProgram(join(import.meta.dirname, `${program}.ts`));

/** Types are stripped and code is compiled once for all that tests start. */
const { NODE_COMPILE_CACHE, NODE_V8_COVERAGE } = process.env;
const compiled = {
  ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  // A run that records which functions run: `npm test -- --reach`.
  ...(NODE_V8_COVERAGE !== undefined && { NODE_V8_COVERAGE }),
};

/** Starts a program by its words; it is killed when the test ends. */
export function startFile(
  test: Lifetime,
  [command = '', ...args]: readonly string[],
  env: Record<string, string>,
  input: 'ignore' | 'pipe' = 'ignore',
): HostCommand {
  const child = spawn(command, args, {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...compiled, ...env },
    stdio: [input, 'pipe', 'pipe'],
  });
  const text = { stdout: '', stderr: '' };
  const changed = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk;
      for (const notify of changed) notify();
    });
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  test.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    process: child,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    ended,
    says: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const all = text.stdout + text.stderr;
          if (typeof wanted === 'string' ? all.includes(wanted) : wanted.test(all)) resolve();
        };
        changed.add(look);
        look();
        void ended.then(() => reject(new Error(`ended without saying ${wanted}:\n${text.stdout}${text.stderr}`)));
      }),
  };
}

/** A `svc host` command on a terminal of its own, by `script`. */
interface TerminalCommand {
  /** Everything on its screen so far. */
  screen(): string;
  /** Waits until the screen shows `text`. */
  shows(text: string): Promise<void>;
  type(text: string): void;
  /** Exit code. */
  ended: Promise<number | null>;
  kill(): void;
}

/** Starts `svc host <words>` on a terminal; it is killed when the test ends. */
export function startOnTerminal(
  test: Lifetime,
  words: readonly string[],
  env: Record<string, string>,
): TerminalCommand {
  return startLineOnTerminal(test, lineOf('main', words), env);
}

/** `svc host <words>`, or another program, as a line of a shell. */
export const lineOf = (program: Program, words: readonly string[]): string =>
  wordsAsLine([process.execPath, fileOf(program), ...words]);

/** Words as a line of a shell. */
export const wordsAsLine = (words: readonly string[]): string =>
  words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');

/** Starts a line of a shell on a terminal; it is killed when the test ends. */
export function startLineOnTerminal(test: Lifetime, line: string, env: Record<string, string>): TerminalCommand {
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...compiled, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (screen += chunk));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const kill = () => void child.kill('SIGTERM');
  test.after(kill);
  return {
    screen: () => screen,
    shows: (text) => until(() => screen.includes(text), `the screen shows "${text}":\n${screen}`),
    type: (text) => void child.stdin.write(text),
    ended,
    kill,
  };
}

/** A started daemon with a state directory and root of its own. */
export interface TestDaemon extends HostCommand {
  stateDir: string;
  root: string;
}

/** Starts `svc host run` against `gateway`. */
export async function startDaemon(
  test: Lifetime,
  gateway: FakeGateway,
  words: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<TestDaemon> {
  const stateDir = await temporaryDirectory(test);
  const root = await temporaryDirectory(test);
  const common = ['--state-dir', stateDir, '--url', gateway.url, '--roots', root, '--allow-shell'];
  const command = startCommand(test, ['run', ...common, ...words], { SVC_API_KEY: testKey, HOME: root, ...env });
  return { ...command, stateDir, root };
}
