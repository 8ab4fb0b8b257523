import { type HostOp, type HostOpArgs, hostOps, uuid } from '@svc/contract';
import { type Client, createClient, SvcError } from '@svc/sdk';
import { type CommonOptions, type Config, loadConfig } from '../config.ts';
import { CommandError } from '../failure.ts';
import { devicePlatform } from '../ops/info.ts';
import { createOutput, type Output } from '../output.ts';
import { describeWithTrace } from '../report.ts';
import { ensureStateDirectory, loadDevice } from '../state.ts';

/** Options of `svc host exec`. */
export interface ExecOptions extends CommonOptions {
  /** Seconds. */
  timeout: string;
  cwd?: string;
}

/** Exit code when the command ran out of time, as of `timeout(1)`. */
const timedOutCode = 124;
/** Exit code of everything that is not the command's own: told apart from what the command may answer. */
export const relayFailedCode = 125;
/** The relay waits so long beyond the command's own timeout, so that late output still arrives. */
const relayMarginMs = 5000;
const maxRelayMs = 300_000;

/** `svc host exec`: runs a command on another host; answers the exit code. */
export async function exec(target: string, words: readonly string[], options: ExecOptions): Promise<number> {
  const timeoutMs = parseTimeout(options.timeout);
  const config = loadConfig(options);
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  const client = await clientOf(config, output);
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => stop.abort(signal);
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    const deviceId = await findHost(client, target, stop.signal);
    const cwd = options.cwd && { cwd: options.cwd };
    const args: HostOpArgs<'shell'> = { command: commandLine(words), timeout_ms: timeoutMs, ...cwd };
    const timeout_ms = Math.min(timeoutMs + relayMarginMs, maxRelayMs);
    const body = { op: 'shell' satisfies HostOp, args, timeout_ms };
    const answer = await client.hosts.exec({ params: { device_id: deviceId }, body }, { signal: stop.signal });
    if (!answer.ok && !options.json) throw new CommandError(`${target}: ${answer.error ?? 'failed'}`, relayFailedCode);
    if (options.json) output.json(answer);
    return await finish(answer.ok ? answer.result : undefined, options.json === true, output);
  } catch (error) {
    if (stop.signal.aborted) return stop.signal.reason === 'SIGINT' ? 130 : 143;
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${target}: ${describeWithTrace(error)}`, isTimeout(error) ? timedOutCode : relayFailedCode);
  }
}

/** Writes what the command wrote and answers the exit code it stands for. */
async function finish(result: unknown, json: boolean, output: Output): Promise<number> {
  if (result === undefined && json) return relayFailedCode;
  const parsed = hostOps.shell.result.safeParse(result);
  if (!parsed.success)
    throw new CommandError('the host answered something that is not a shell result', relayFailedCode);
  const { stdout, stderr, timed_out, truncated, exit_code } = parsed.data;
  if (!json) {
    await Promise.all([write(process.stdout, stdout), write(process.stderr, stderr)]);
    if (truncated) output.log('the output was cut at 1 MiB a stream');
    if (timed_out) output.log('the command timed out and was killed');
  }
  return timed_out ? timedOutCode : (exit_code ?? relayFailedCode);
}

/** Resolves when the stream took the text, or when its reader is gone (`| head`). */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (text === '') return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write(text, () => resolve());
  });
}

function parseTimeout(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds >= 1 && seconds <= maxRelayMs / 1000)) {
    throw new CommandError(`--timeout must be 1 to ${maxRelayMs / 1000} seconds, not "${text}"`, relayFailedCode);
  }
  return Math.round(seconds * 1000);
}

/** This machine's identity goes along, so that the other host can say who asks; without one it works as well. */
async function clientOf(config: Config, output: Output): Promise<Client> {
  const base = { baseUrl: config.url, apiKey: config.key, retries: 0 };
  try {
    await ensureStateDirectory(config.stateDir);
    const { id, name } = await loadDevice(config.stateDir);
    return createClient({ ...base, device: { id, ...(name && { name }), platform: devicePlatform } });
  } catch (error) {
    output.log(`${(error as Error).message}; going on without a device id`);
    return createClient(base);
  }
}

/** The id of the present host that `target` names: its device id, else its exact name or hostname. */
async function findHost(client: Client, target: string, signal: AbortSignal): Promise<string> {
  const id = uuid.safeParse(target);
  if (id.success) return id.data;
  const { hosts } = await client.hosts.list({}, { signal });
  const matching = hosts.filter((host) => host.name === target || host.hostname === target);
  const [only, ...others] = matching;
  if (!only) throw new CommandError(`no present host is called "${target}": see svc host list`, relayFailedCode);
  if (others.length === 0) return only.device_id;
  const ids = matching.map((host) => host.device_id).join(', ');
  throw new CommandError(`"${target}" names ${matching.length} hosts, give one of their ids: ${ids}`, relayFailedCode);
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
