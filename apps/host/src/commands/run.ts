import { join } from 'node:path';
import { type CommonOptions, loadConfig } from '../config.ts';
import { defaultTiming } from '../connection.ts';
import { runDaemon } from '../daemon.ts';
import { CommandError } from '../failure.ts';
import { createProcessGroups } from '../groups.ts';
import { acquireLock } from '../lock.ts';
import { createOutput } from '../output.ts';
import { ensureStateDirectory } from '../state.ts';

/** Options of `svc host run`. */
export interface RunOptions extends CommonOptions {
  roots?: string;
  name?: string;
  policy?: string;
  tags?: string;
  parallel?: string;
  allowShell?: boolean;
}

/** After a signal the process is gone within this, whatever still hangs. */
const stopMs = 4000;

/** `svc host run`: the daemon, until SIGTERM, SIGINT or SIGHUP. */
export async function run(options: RunOptions): Promise<void> {
  // A machine never serves with a person's login: it has a key of its own, which may do nothing else.
  const config = loadConfig(options, undefined, 'given');
  // The command line is open to every process, those started here first of all.
  if (options.key !== undefined) process.title = 'svc host run';
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  await ensureStateDirectory(config.stateDir);
  const lock = await acquireLock(join(config.stateDir, 'daemon.lock'));
  const groups = createProcessGroups();
  // Also when an unexpected failure ends the process: no command outlives it, the next start finds no lock.
  process.once('exit', () => {
    groups.killAll();
    lock.release();
  });
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) return;
    stop.abort();
    setTimeout(() => process.exit(0), stopMs);
  };
  // A daemon goes on when nobody reads its lines any longer.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, onSignal);
  await runDaemon({
    config,
    output,
    json: options.json === true,
    roots: splitList(options.roots),
    tags: splitList(options.tags),
    parallel: parseParallel(options.parallel),
    name: options.name,
    policyPath: options.policy,
    allowShell: options.allowShell === true,
    groups,
    timing: defaultTiming,
    signal: stop.signal,
  });
  process.exit(0);
}

function splitList(text: string | undefined): string[] | undefined {
  return text
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function parseParallel(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > 1000) throw new CommandError(`--parallel must be 1 to 1000, not "${text}"`);
  return count;
}
