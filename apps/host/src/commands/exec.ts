import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HostOp, type HostOpArgs, hostOps } from '@svc/contract';
import { type Client, isSvcError, SvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import type { CommonOptions } from '../config.ts';
import { defaultTiming } from '../connection.ts';
import { CommandError } from '../failure.ts';
import type { Output } from '../output.ts';
import { describeFailure, describeWithTrace } from '../report.ts';
import { isRefusal } from '../runs/lease.ts';
import { exitCodeOf, follow, sayStates, timedOutCode, timedOutText } from './follow.ts';
import { findDevice, findHost, openCommand, relayFailedCode, write } from './target.ts';

/** Options of `svc host exec`. */
export interface ExecOptions extends CommonOptions {
  /** Seconds. */
  timeout?: string;
  cwd?: string;
  /** Output as it comes. */
  live?: boolean;
  stdin?: boolean;
  wait?: boolean;
  detach?: boolean;
  /** Hours. */
  expires?: string;
}

/** The relay waits so long beyond the command's own timeout, so that late output still arrives. */
const relayMarginMs = 5000;
const maxRelayMs = 300_000;
const mostSeconds = 86_400;
const defaultTimeoutMs = 30_000;
const mostInputBytes = 1024 * 1024;
const cancelMs = 5_000;

type ShellArgs = HostOpArgs<'shell'>;

/** A command as it is given to a host. */
interface Given {
  client: Client;
  output: Output;
  target: string;
  deviceId: string;
  args: ShellArgs;
  options: ExecOptions;
  signal: AbortSignal;
}

/** `svc host exec`: runs a command on another host; answers the exit code. */
export async function exec(target: string, words: readonly string[], options: ExecOptions): Promise<number> {
  const { wait, detach, json } = options;
  const timeoutMs = parseTimeout(options.timeout) ?? (wait || detach ? undefined : defaultTimeoutMs);
  const { client, output } = await openCommand(options);
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => stop.abort(signal);
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const { signal } = stop;
  try {
    const deviceId = await (wait ? findDevice : findHost)(client, target, signal);
    const args: ShellArgs = {
      command: commandLine(words),
      ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
      ...(options.cwd && { cwd: options.cwd }),
      ...(options.stdin && { stdin: await readInput() }),
    };
    const given = { client, output, target, deviceId, args, options, signal };
    // On a terminal both outputs are one anyway; elsewhere who reads them wants them apart.
    const live = options.live ?? (!json && process.stdout.isTTY && process.stderr.isTTY);
    return await (wait || detach || options.stdin || live ? give(given) : call(given));
  } catch (error) {
    if (signal.aborted) return signal.reason === 'SIGINT' ? 130 : 143;
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${target}: ${describeWithTrace(error)}`, isTimeout(error) ? timedOutCode : relayFailedCode);
  }
}

/** Gives a command to a host that does it by itself, and follows it unless it is to be left alone. */
async function give(given: Given): Promise<number> {
  const { client, output, target, options, signal } = given;
  const { json = false, wait = false, detach = false, stdin = false } = options;
  let taken: Awaited<ReturnType<typeof take>>;
  try {
    taken = await take(given);
  } catch (error) {
    if (!isSvcError(error, 'host_outdated') || wait || detach || stdin) throw error;
    return call(given);
  }
  // A gateway of the version before has waited for it.
  if (!('state' in taken)) return finish(given, taken);
  const { req_id: id } = taken;
  if (detach) {
    if (json) output.json(taken);
    else output.line(id);
    return 0;
  }
  const following = { client, id, log: output.log, signal };
  const over = new AbortController();
  const saying = wait ? sayStates({ ...following, signal: AbortSignal.any([signal, over.signal]) }) : undefined;
  let text = '';
  const onText = async (piece: string) => (json ? void (text += piece) : write(process.stdout, piece));
  try {
    const record = await follow({ ...following, onText });
    if (json) output.json({ ...record, output: text });
    return exitCodeOf(record, target, output.log);
  } catch (error) {
    if (signal.aborted) await cancel(client, id, output);
    throw error;
  } finally {
    over.abort();
    await saying;
  }
}

/** Gives the command; with `--wait` again until the gateway answers, which does it once. */
async function take({ client, output, deviceId, args, options, signal }: Given) {
  const body = {
    op: 'shell' satisfies HostOp,
    args,
    detach: true,
    ...(options.wait && { if_offline: 'wait' as const }),
    ...(options.expires !== undefined && { expires_in_s: parseHours(options.expires) }),
  };
  const idempotencyKey = randomUUID();
  const backoff = createBackoff(...defaultTiming.retryMs);
  for (;;) {
    try {
      return await client.hosts.exec({ params: { device_id: deviceId }, body }, { signal, idempotencyKey });
    } catch (error) {
      if (!options.wait || signal.aborted || isRefusal(error) || !isPassing(error)) throw error;
      output.log(`${describeFailure(error)}; trying again`);
      await sleep(backoff.next(), undefined, { signal });
    }
  }
}

/** The gateway is away or overloaded. */
const isPassing = (error: unknown): boolean =>
  error instanceof SvcError && (error.status === 0 || error.status === 429 || error.status >= 500);

async function cancel(client: Client, id: string, output: Output): Promise<void> {
  await client.hosts
    .cancelExec({ params: { req_id: id } }, { signal: AbortSignal.timeout(cancelMs) })
    .catch((error: unknown) =>
      output.log(`it was not cancelled: ${describeFailure(error)}; svc host execs cancel ${id}`),
    );
}

/** Runs a command and waits for its result. */
async function call(given: Given): Promise<number> {
  const { client, deviceId, args, signal } = given;
  const timeoutMs = args.timeout_ms ?? defaultTimeoutMs;
  if (timeoutMs > maxRelayMs) {
    const most = maxRelayMs / 1000;
    throw new CommandError(
      `--timeout: more than ${most} seconds only with --live, --wait or --detach`,
      relayFailedCode,
    );
  }
  const timeout_ms = Math.min(timeoutMs + relayMarginMs, maxRelayMs);
  const body = { op: 'shell' satisfies HostOp, args, timeout_ms };
  return finish(given, await client.hosts.exec({ params: { device_id: deviceId }, body }, { signal }));
}

/** Writes what a command wrote and answers the exit code it stands for. */
async function finish(
  { output, target, options }: Given,
  answer: Awaited<ReturnType<Client['hosts']['exec']>>,
): Promise<number> {
  const { json = false } = options;
  if (!answer.ok && !json) throw new CommandError(`${target}: ${answer.error ?? 'failed'}`, relayFailedCode);
  if (json) output.json(answer);
  const result = answer.ok ? answer.result : undefined;
  if (result === undefined && json) return relayFailedCode;
  const parsed = hostOps.shell.result.safeParse(result);
  if (!parsed.success)
    throw new CommandError('the host answered something that is not a shell result', relayFailedCode);
  const { stdout, stderr, timed_out, ended_processes, truncated, exit_code } = parsed.data;
  if (!json) {
    await Promise.all([write(process.stdout, stdout), write(process.stderr, stderr)]);
    if (truncated) output.log('the output was cut at 1 MiB a stream');
    if (timed_out) output.log(timedOutText(ended_processes));
  }
  return timed_out ? timedOutCode : (exit_code ?? relayFailedCode);
}

function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds >= 1 && seconds <= mostSeconds)) {
    throw new CommandError(`--timeout must be 1 to ${mostSeconds} seconds, not "${text}"`, relayFailedCode);
  }
  return Math.round(seconds * 1000);
}

function parseHours(text: string): number {
  const hours = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(hours >= 1 / 60 && hours <= 168))
    throw new CommandError(`--expires must be 1/60 (a minute) to 168 hours, not "${text}"`, relayFailedCode);
  return Math.round(hours * 3600);
}

/** Standard input in base64. */
async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > mostInputBytes) throw new CommandError('standard input is longer than 1 MiB', relayFailedCode);
  }
  return Buffer.concat(chunks).toString('base64');
}

/** One word is a line for the shell, several are one command whose words stay as they are. */
function commandLine(words: readonly string[]): string {
  const [only, ...others] = words;
  if (only !== undefined && others.length === 0) return only;
  return words.map((word) => (/^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** Also when no answer came for as long as `fetch` waits, which is the relay's longest timeout. */
function isTimeout(error: unknown): boolean {
  if (!(error instanceof SvcError)) return false;
  const cause = error.cause instanceof Error ? (error.cause.cause as { code?: string } | undefined) : undefined;
  return error.code === 'host_timeout' || cause?.code === 'UND_ERR_HEADERS_TIMEOUT';
}
