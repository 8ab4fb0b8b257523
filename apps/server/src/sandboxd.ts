import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Config, systemEnvironment } from './config.ts';
import type { Clock } from './kernel/base/clock.ts';
import { findDataDir, makeDataDir } from './postgres/datadir.ts';
import type { Log } from './kernel/base/log.ts';
import { findRunningProcesses } from './running.ts';

const program = resolve(import.meta.dirname, '../../sandboxd/src/main.ts');
const againAfterMs = { least: 500, most: 30_000 };
/** One that ran this long was well. */
const wellAfterMs = 10_000;
/** It lets commands end that somebody waits for. */
const stopMs = 9_000;

/** `svc images …`: the node agent's own command, on the images of this data dir. Answers its exit code. */
export async function imagesCommand(config: Config, words: readonly string[], json: boolean): Promise<number> {
  // Only what brings an image may make the data dir: `list` changes nothing.
  const dataDir = ['build', 'import'].includes(words[0] ?? '') ? makeDataDir(config) : findDataDir(config);
  const running = findRunningProcesses(dataDir).find(({ images_dir }) => images_dir !== undefined);
  const dir = config.sandboxes.imagesDir ?? running?.images_dir ?? imagesDirOf(config, join(dataDir, 'sandboxd'));
  const args = [...nodeFlags, program, 'images', ...words];
  if (words.length > 0 && words[0] !== '--help') args.push('--dir', dir, ...(json ? ['--json'] : []));
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

const imagesDirOf = (config: Config, dir: string): string => config.sandboxes.imagesDir ?? join(dir, 'images');
/** Its heap is small: the machine's memory is for sandboxes. */
const nodeFlags = ['--max-semi-space-size=4', '--disable-warning=ExperimentalWarning'];

/** Where the node agent beside a gateway keeps its state, and where it listens. */
export function sandboxdPlaces(config: Config, dataDir: string): { dir: string; socket: string } {
  const dir = join(dataDir, 'sandboxd');
  return { dir, socket: config.sandboxdSocket ?? join(dir, 'sandboxd.sock') };
}

/** A node agent that is kept running. */
export interface Supervised {
  /** Ends the agent; its sandboxes go on. */
  stop(): Promise<void>;
}

/** Runs the node agent of this machine as a process of its own, and starts it again when it ends. */
export function superviseSandboxd(
  { config, dataDir, clock, log }: { config: Config; dataDir: string; clock: Clock; log: Log },
  options: { systemPackages: boolean },
): Supervised {
  const { dir, socket } = sandboxdPlaces(config, dataDir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const args = argumentsOf(config, { dir, socket }, options);
  let child: ChildProcess | undefined;
  let stopped = false;
  let wait = againAfterMs.least;
  let cancel = (): void => {};
  const start = (): void => {
    const begun = clock.monotonic();
    // It ends with the pipe: a gateway that is killed leaves none behind that the next one would meet.
    child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'], env: systemEnvironment() });
    let over = false;
    const again = (code: unknown, signal?: unknown): void => {
      if (stopped || over) return;
      over = true;
      if (clock.monotonic() - begun > wellAfterMs) wait = againAfterMs.least;
      log.warn({ code, signal, again_ms: wait }, 'the sandbox node agent ended; it is started again');
      cancel = clock.after(wait, start);
      wait = Math.min(wait * 2, againAfterMs.most);
    };
    child.once('error', again).once('exit', again);
  };
  start();
  return {
    async stop() {
      stopped = true;
      cancel();
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const kill = clock.after(stopMs, () => child?.kill('SIGKILL'));
      await ended;
      kill();
    },
  };
}

function argumentsOf(
  config: Config,
  places: { dir: string; socket: string },
  { systemPackages }: { systemPackages: boolean },
): string[] {
  const { sandboxes, fetchAllowHosts, fetchPorts, logLevel } = config;
  const flags: Record<string, string | number | undefined> = {
    ...places,
    images: imagesDirOf(config, places.dir),
    slots: sandboxes.slots,
    warm: sandboxes.warm,
    memory: sandboxes.memoryMb,
    cpus: sandboxes.cpus,
    workspace: sandboxes.workspaceMb,
    ports: fetchPorts.join(','),
    'allow-hosts': fetchAllowHosts.join(',') || undefined,
    'pypi-hosts': sandboxes.pypiHosts.join(','),
    'npm-hosts': sandboxes.npmHosts?.join(','),
    'log-level': logLevel,
  };
  const given = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, `${value}`],
  );
  return [...nodeFlags, program, 'run', '--tied', ...given, ...(systemPackages ? [] : ['--no-system-packages'])];
}
