import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentSpec, shellSpec } from '@svc/contract';
import type { Client } from '@svc/sdk';
import type { Config } from '../config.ts';
import type { ConnectionTiming } from '../connection.ts';
import type { ProcessGroups } from '../groups.ts';
import { noteReached } from '../native/cache.ts';
import { createMirror } from '../native/mirror.ts';
import { outcomeOfSlot, sendOutcomes } from '../native/slots.ts';
import type { Policy, PolicySource } from '../policy.ts';
import { hashCommand, hashPrompt, openApprovals } from './approvals.ts';
import { claimRuns } from './claims.ts';
import type { Machine } from './context.ts';
import { type Journal, openJournal, pruneJournal } from './journal.ts';
import { runTiming } from './lease.ts';
import { createRunner, type Runner } from './runner.ts';
import type { ScheduleList } from '../schedules.ts';
import { ownCommand } from '../self.ts';
import { watchSchedules } from './watch.ts';

/** Options of the host's scheduler part. */
interface RunsOptions {
  client: Client;
  config: Config;
  deviceId: string;
  policy: PolicySource;
  groups: ProcessGroups;
  /** The daemon's own files, as real paths. */
  hidden: readonly string[];
  killAfterMs: number;
  /** Further words of the command that the system's own scheduler calls. */
  words: readonly string[];
  timing: ConnectionTiming;
  log: (text: string) => void;
}

/** The scheduler's part of the daemon. */
interface Runs {
  /** Shared parts of the runs on this machine. */
  machine: Machine;
  /** Claims no more, ends what runs and reports it, within `mostStopMs`. */
  stop(): Promise<void>;
}

/** A stop takes at most this long; the next daemon reports the rest from the journal. */
const mostStopMs = 3500;
const spoolMs = 60_000;

/** Starts claiming: first, what an earlier daemon left behind is killed and reported. */
export async function startRuns(options: RunsOptions): Promise<Runs> {
  const { client, policy, log, config } = options;
  const stopping = new AbortController();
  const end = new AbortController();
  const { signal } = stopping;
  const { journal, machine } = await openMachine(options);
  const runner = createRunnerOf(options, journal, machine, end.signal);
  await runner.recover();
  const send = () => sendOutcomes(client, journal, log);
  const tidy = async () => {
    await send();
    await pruneJournal(machine.reportDirectory);
  };
  const spool = setInterval(() => void tidy().catch(() => {}), spoolMs).unref();
  const look = createLook(options, machine, send);
  const working = [
    claimRuns({ client, policy, runner, approvals: machine.approvals, retryMs: options.timing.retryMs, log, signal }),
    watchSchedules({
      client,
      timing: options.timing,
      onSchedules: look,
      // A run that the gateway ended is not to go on until the next heartbeat: another waits for its end.
      onRun: (run) => void (run?.state !== 'running' && runner.look(run?.id)),
      onReached: (reached) => noteReached(config.stateDir, reached),
      signal,
    }),
  ];
  return {
    machine,
    async stop() {
      clearInterval(spool);
      stopping.abort();
      await Promise.race([runner.stop(), sleep(mostStopMs, undefined, { ref: false })]);
      end.abort();
      await Promise.allSettled(working);
      await noteReached(config.stateDir, false);
    },
  };
}

/** Journal, approvals and all else on this machine that runs need. */
export async function openMachine(
  options: Pick<RunsOptions, 'config' | 'groups' | 'hidden' | 'killAfterMs'>,
): Promise<{ journal: Journal; machine: Machine }> {
  const { stateDir, childEnvironment, key } = options.config;
  const directory = join(stateDir, 'runs');
  const journal = await openJournal(directory);
  await pruneJournal(directory);
  const machine: Machine = {
    environment: childEnvironment,
    secretsPath: join(stateDir, 'secrets.json'),
    key,
    approvals: openApprovals(join(stateDir, 'approvals.json')),
    groups: options.groups,
    hidden: options.hidden,
    reportDirectory: directory,
    killAfterMs: options.killAfterMs,
  };
  return { journal, machine };
}

/** The runner of claimed runs; `end` ends every attempt to report. */
export function createRunnerOf(
  { client, policy, log, config }: Pick<RunsOptions, 'client' | 'policy' | 'log' | 'config'>,
  journal: Journal,
  machine: Machine,
  end: AbortSignal,
): Runner {
  const ranNatively = (run: Parameters<typeof outcomeOfSlot>[0], signal: AbortSignal) =>
    outcomeOfSlot(run, journal, config.stateDir, signal);
  return createRunner({ client, journal, machine, policy, timing: runTiming, log, ranNatively }, end);
}

/** Makes the function that handles a change of the account's schedules. */
function createLook(options: RunsOptions, machine: Machine, send: () => Promise<void>) {
  const { config, deviceId, log, policy } = options;
  const common = ['--url', config.url, '--state-dir', config.stateDir, ...options.words];
  const key = config.keyFile === undefined ? [] : ['--key-file', config.keyFile];
  const mirror = createMirror({
    stateDir: config.stateDir,
    command: (id) => [...ownCommand(), 'fire', id, ...common, ...key],
    environment: config.childEnvironment,
    configDirectory: config.childEnvironment['XDG_CONFIG_HOME'] || join(config.home, '.config'),
    deviceId,
    log,
  });
  const asked = new Set<string>();
  return async (list: ScheduleList): Promise<boolean> => {
    await send();
    const rules = await policy.current();
    for (const { id, name, hash, what } of await unapproved(list, deviceId, machine, rules)) {
      if (asked.has(hash)) continue;
      asked.add(hash);
      log(`"${name}" waits for this host to approve its ${what}: svc host approve ${id}`);
    }
    return (await mirror.update(list, rules)) > 0;
  };
}

/** Schedules for this machine alone whose command or prompt was not approved on it, and that would otherwise run. */
async function unapproved(list: ScheduleList, deviceId: string, { approvals }: Machine, { agent }: Policy) {
  const waiting = [];
  for (const { id, name, enabled, kind, spec, target } of list.schedules) {
    if (!enabled || target.type !== 'host' || target.device_id !== deviceId) continue;
    const asks = asksFor(kind, spec, agent?.ask === true);
    if (asks && !(await approvals.isApproved(id, asks.hash))) {
      waiting.push({ id, name, what: asks.what, hash: `${id} ${asks.hash}` });
    }
  }
  return waiting;
}

/** The part of a schedule that a person at this machine has to approve, and its hash; undefined if no approval is needed. */
export function asksFor(kind: string, spec: unknown, agentAsks: boolean) {
  const shell = kind === 'shell' ? shellSpec.safeParse(spec) : undefined;
  if (shell?.success) return { what: 'command' as const, spec: shell.data, hash: hashCommand(shell.data) };
  const agent = kind === 'agent' && agentAsks ? agentSpec.safeParse(spec) : undefined;
  if (agent?.success) return { what: 'prompt' as const, spec: agent.data, hash: hashPrompt(agent.data) };
  return undefined;
}
