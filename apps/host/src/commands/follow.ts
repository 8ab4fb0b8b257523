import { setTimeout as sleep } from 'node:timers/promises';
import { type contract, hostOps, type RouteOutput } from '@svc/contract';
import type { Client } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import { defaultTiming } from '../connection.ts';
import { CommandError } from '../failure.ts';
import type { Output } from '../output.ts';
import { describeFailure } from '../report.ts';
import { isRefusal } from '../runs/lease.ts';
import { endedText } from '../text.ts';
import { relayFailedCode } from './target.ts';

/** A command that a host does by itself, as the gateway shows it. */
export type HostExec = RouteOutput<typeof contract.hosts.getExec>;

/** Exit code when the command ran out of time, as of `timeout(1)`. */
export const timedOutCode = 124;
const stateEveryMs = 2_000;

/** How a command is followed. */
interface Following {
  client: Client;
  id: string;
  /** Output as it comes; the next piece waits until it resolves. */
  onText: (text: string) => Promise<void>;
  log: Output['log'];
  signal: AbortSignal;
}

/** Follows a command until it is over, whatever happens to the connection. Answers its record. */
export async function follow({ client, id, onText, log, signal }: Following): Promise<HostExec> {
  const backoff = createBackoff(...defaultTiming.retryMs);
  const params = { req_id: id };
  let told = '';
  for (let from = 0; ; ) {
    // A connection that is gone may say nothing.
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), defaultTiming.silenceMs);
    const call = { signal: AbortSignal.any([signal, silence.signal]), onActivity: () => void timer.refresh() };
    try {
      for await (const { event, data } of client.hosts.execOutput.events({ params, query: { from } }, call)) {
        backoff.reset();
        if (event === 'end') return await client.hosts.getExec({ params }, { signal });
        await onText(data.text);
        from = data.to;
      }
      told = '';
    } catch (error) {
      if (signal.aborted || isRefusal(error)) throw error;
      const reason = silence.signal.aborted ? 'the connection is silent' : describeFailure(error);
      if (reason !== told) log(`${reason}; trying again`);
      told = reason;
    } finally {
      clearTimeout(timer);
    }
    await sleep(backoff.next(), undefined, { signal });
  }
}

/** Says where a command is, until it runs. */
export async function sayStates({ client, id, log, signal }: Omit<Following, 'onText'>): Promise<void> {
  let told = '';
  while (!signal.aborted) {
    const exec = await client.hosts.getExec({ params: { req_id: id } }, { signal }).catch(() => undefined);
    if (exec && exec.state !== told) log(statesSaid[exec.state] ?? exec.state);
    told = exec?.state ?? told;
    if (exec && exec.state !== 'waiting' && exec.state !== 'sent') return;
    await sleep(stateEveryMs, undefined, { signal }).catch(() => {});
  }
}

const statesSaid: Readonly<Record<string, string>> = {
  waiting: 'waiting: the host is away, or has 16 commands to do',
  sent: 'sent: the host has not started it',
  running: 'running',
};

/** What is said of a command that its time ended. */
export const timedOutText = (processes: number | undefined): string =>
  `the command timed out and was killed${endedText(processes)}`;

/** The exit code that a finished shell command stands for; throws `CommandError` when it has none. */
export function exitCodeOf({ state, ok, error, result }: HostExec, target: string, log: Output['log']): number {
  if (state !== 'done' || !ok) throw new CommandError(`${target}: ${error ?? state}`, relayFailedCode);
  const parsed = hostOps.shell.result.omit({ stdout: true, stderr: true }).safeParse(result);
  if (!parsed.success) return 0;
  const { exit_code, timed_out, truncated, ended_processes } = parsed.data;
  if (truncated) log('the output was cut at 10 MiB, or the account keeps no more');
  if (timed_out) log(timedOutText(ended_processes));
  return timed_out ? timedOutCode : (exit_code ?? relayFailedCode);
}
