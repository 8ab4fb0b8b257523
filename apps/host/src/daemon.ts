import { mkdir, realpath, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { type Client, createClient } from '@svc/sdk';
import { announce } from './announce.ts';
import { type Approver, createApprover } from './approval.ts';
import { beginPolicy } from './first-policy.ts';
import type { Config } from './config.ts';
import { type ConnectionTiming, stayConnected } from './connection.ts';
import { createExecutor, type ExecFrame, type OperationOptions } from './executor.ts';
import { startEnvironments } from './environment/index.ts';
import { startExecs } from './execs/index.ts';
import type { ProcessGroups } from './groups.ts';
import type { GitContext } from './ops/git-frozen.ts';
import { devicePlatform, osLabel } from './ops/info.ts';
import type { Output } from './output.ts';
import { openPolicy, type Policy, type PolicySource } from './policy.ts';
import { sayRefusals } from './refusals.ts';
import { createReporter } from './report.ts';
import { startRuns } from './runs/index.ts';
import { startSessions } from './sessions/index.ts';
import { type Device, loadDevice, saveDevice } from './state.ts';

/** Options of a daemon. */
interface DaemonOptions {
  config: Config;
  output: Output;
  /** Prints what happens as JSON lines. */
  json: boolean;
  roots: readonly string[] | undefined;
  tags: readonly string[] | undefined;
  /** Scheduled runs at once. */
  parallel: number | undefined;
  name: string | undefined;
  /** Policy file in place of the state directory's. */
  policyPath: string | undefined;
  /** The policy that a first run writes allows commands. */
  allowShell: boolean;
  groups: ProcessGroups;
  timing: ConnectionTiming;
  /** Stops the daemon: operations are ended and their outcomes reported first. */
  signal: AbortSignal;
}

/** Milliseconds between SIGTERM and SIGKILL of a command: in a running daemon, and in one that has 5 s to stop. */
const killAfterMs = 2000;
const reportRetryMs = [200, 3000] as const;
const lookUpMs = 2000;
/** In the state directory, which operations do not reach. */
const scratchName = 'scratch';

/** Runs the daemon until `signal` aborts; throws `CommandError` for what a person must put right first. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { config, output } = options;
  const policyPath = options.policyPath ?? join(config.stateDir, 'host.json');
  const approver = createApprover();
  const { allowShell, signal } = options;
  const isFirst =
    options.policyPath === undefined && (await beginPolicy({ path: policyPath, allowShell, approver, signal }));
  if (allowShell && !isFirst) {
    output.log(`--allow-shell counts at the first run only; from then on ops.shell in ${policyPath} does`);
  }
  const policy = await openDaemonPolicy(options, policyPath);
  const nameOf = ({ name }: Policy) => options.name ?? name ?? hostname();
  const initial = await policy.current();
  const name = nameOf(initial);
  const device = await rememberName(config.stateDir, name);
  const client = createClient({
    baseUrl: config.url,
    apiKey: config.key,
    device: { id: device.id, name, platform: devicePlatform },
    // The daemon has its own ways to wait and to come back.
    retries: 0,
    timeoutMs: 0,
    fetch: sayRefusals(output.log),
  });
  await emptyScratch(config.stateDir);
  const end = new AbortController();
  const hidden = await realPaths([config.stateDir, config.profilesDir, policyPath, config.keyFile]);
  const operations = operationsOf(options, { client, policy, hidden, nameOf, approver });
  const reporter = createReporter({ client, log: output.log, retryMs: reportRetryMs, signal: end.signal });
  const execs = await startExecs({ ...operations, client, stateDir: config.stateDir });
  const executor = createExecutor({ ...operations, reporter, detached: execs });
  announce(output, options.json, initial, policyPath);
  if (initial.decisions.shell === 'ask' && !approver.available()) sayUnasked(output, policyPath);
  const { groups, timing } = options;
  const own = { client, config, deviceId: device.id, policy, groups, hidden, killAfterMs, timing, log: output.log };
  const runs = await startRuns({ ...own, words: wordsOf(options) });
  const sessions = await startSessions({ ...own, machine: runs.machine, approver, stateDir: config.stateDir });
  const environments = startEnvironments({ ...own, approver, git: gitOf(options, end.signal) });
  // The stream stays open while operations end: were it closed first, their callers would learn nothing.
  const stopped = onceAborted(options.signal)
    .then(() => Promise.all([executor.stop(), runs.stop(), sessions.stop(), execs.stop(), environments.stop()]))
    .then(() => end.abort());
  const stay = stayConnected({
    client,
    presence: async () => ({ os: osLabel(), hostname: hostname(), roots: (await policy.current()).roots }),
    onConnected: ({ roots }) => tellConnected(options, name, device, roots),
    onEvent: (event, data) => {
      if (event === 'exec') executor.exec(data);
      else if (event === 'exec_cancel') executor.cancel(data);
    },
    onSuspended: () => execs.refuse(),
    log: output.log,
    signal: end.signal,
    timing: options.timing,
  });
  // A refused key ends the daemon, and with it what was claimed in the meantime.
  await stay.catch(async (error) => {
    await Promise.all([runs.stop(), sessions.stop(), execs.stop(), environments.stop()]);
    throw error;
  });
  await stopped;
}

/** What git needs to look at a repository for a report. */
const gitOf = ({ config, groups }: DaemonOptions, signal: AbortSignal): GitContext => ({
  signal,
  groups,
  scratch: join(config.stateDir, scratchName),
  environment: config.childEnvironment,
  killAfterMs,
});

function sayUnasked(output: Output, policyPath: string): void {
  const why = 'the policy asks about shell, but there is no terminal to ask on: every shell operation is refused';
  output.log(`${why}; start the daemon in a terminal, or set ops.shell to "allow" in ${policyPath}`);
}

/** Removes files that a killed daemon left behind. */
async function emptyScratch(stateDir: string): Promise<void> {
  const scratch = join(stateDir, scratchName);
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { mode: 0o700 });
}

function openDaemonPolicy(options: DaemonOptions, path: string): Promise<PolicySource> {
  const { config, output, roots, tags, parallel } = options;
  return openPolicy({ path, home: config.home, roots, tags, parallel, onFault: (fault) => output.log(fault) });
}

/** Arguments of the command line that also apply to runs that the system's own scheduler begins. */
function wordsOf({ policyPath, roots }: DaemonOptions): string[] {
  const policy = policyPath === undefined ? [] : ['--policy', resolve(policyPath)];
  return roots === undefined ? policy : [...policy, '--roots', roots.join(',')];
}

interface OperationParts {
  client: Client;
  policy: PolicySource;
  hidden: readonly string[];
  nameOf: (policy: Policy) => string;
  approver: Approver;
}

/** What operations run with on this host, whether their callers wait for them or not. */
function operationsOf(
  { config, output, groups }: DaemonOptions,
  { client, policy, hidden, nameOf, approver }: OperationParts,
): OperationOptions {
  return {
    policy,
    groups,
    environment: config.childEnvironment,
    scratch: join(config.stateDir, scratchName),
    hidden,
    nameOf,
    approve: async (frame, args, asked) => {
      if (!approver.available()) return 'unavailable';
      return approver.ask(await question(client, frame, args), asked);
    },
    log: output.log,
    killAfterMs,
  };
}

async function rememberName(stateDir: string, name: string): Promise<Device> {
  const device = await loadDevice(stateDir);
  if (device.name !== name) await saveDevice(stateDir, { id: device.id, name });
  return { id: device.id, name };
}

function tellConnected({ output, json }: DaemonOptions, name: string, device: Device, roots: readonly string[]): void {
  if (json) output.json({ event: 'connected', name, device_id: device.id, roots });
  else output.line(`connected as ${name} (${device.id}), roots: ${roots.join(', ')}`);
}

/** The command with everything that changes what it does: where it runs and what its environment gets. */
async function question(client: Client, frame: ExecFrame, args: Record<string, unknown>): Promise<string> {
  const { command, timeout_ms: _, ...rest } = args;
  const more = Object.keys(rest).length === 0 ? '' : ` with ${JSON.stringify(rest)}`;
  return `${await deviceName(client, frame.from_device_id)} asks to run: ${String(command)}${more}`;
}

async function deviceName(client: Client, id: string | undefined): Promise<string> {
  if (id === undefined) return 'a device without an id';
  try {
    const { devices } = await client.devices.list({}, { signal: AbortSignal.timeout(lookUpMs) });
    const name = devices.find((device) => device.id === id)?.name;
    return name ? `${name} (${id})` : id;
  } catch {
    return id;
  }
}

async function realPaths(paths: readonly (string | undefined)[]): Promise<string[]> {
  const given = paths.filter((path) => path !== undefined);
  return Promise.all(given.map(realOf));
}

/** The real path of what may come to be there later. */
async function realOf(path: string): Promise<string> {
  const folder = dirname(path);
  return realpath(path).catch(async () => (folder === path ? path : join(await realOf(folder), basename(path))));
}

function onceAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
