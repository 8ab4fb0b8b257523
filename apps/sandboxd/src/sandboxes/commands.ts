import { StringDecoder } from 'node:string_decoder';
import { isOneCommand, oneCommand } from '@svc/contract';
import type { ExecEvent, ExecRequest } from '@svc/sandboxd-api';
import { type NodeErrorCode, nodeErrors } from '@svc/sandboxd-api';
import { NodeError } from '../error.ts';
import type { Channel } from '../wire/client.ts';
import type { GuestEnd, GuestError } from '../wire/messages.ts';
import type { Live } from './instances.ts';
import type { Workspaces } from '../parts.ts';
import { type Context, type Entry, entryOf, environmentOf, hasChanged, liveOf, occupy } from './context.ts';

/** Takes the events of a command; `done` when the reader wants more. */
interface ExecSink {
  event(event: ExecEvent, done: () => void): void;
  /** The reader went away. */
  signal: AbortSignal;
}

/** File systems keep times to a tick of the Linux kernel; a file of the command's first instant is its own. */
export const tickMs = 20;

/** The agent keeps the time; when it is so starved that it cannot, a command is given up this much later. */
export const starvedMs = 15_000;

/** How often a workspace is looked at while a command runs; a count that takes long is made less often. */
const lookMs = 2_000;
const restFactor = 10;

/** Reasons for `guarded` to give up: the caller, the time and the workspace of a command. */
interface Guard<T> {
  context: Context;
  instance: string;
  channel: Channel;
  signal: AbortSignal;
  timeoutMs: number;
  /** The answer when the agent misses the time. */
  late: T;
}

/** Gives `work` up when the caller goes away, when the agent misses the time, and when the workspace grows too large. */
export function guarded<T>(guard: Guard<T>, work: Promise<T>): Promise<T> {
  const { context, channel, signal } = guard;
  const given = Promise.withResolvers<T>();
  const fail = (error: NodeError): void => {
    channel.cancel();
    given.reject(error);
  };
  const gone = (): void => fail(new NodeError('internal_error', 'the caller went away'));
  const timer = setTimeout(() => {
    channel.cancel();
    given.resolve(guard.late);
  }, guard.timeoutMs + starvedMs);
  const rest = watchWorkspace(context.workspaces, guard.instance, () => fail(tooLarge(context)));
  if (signal.aborted) gone();
  else signal.addEventListener('abort', gone, { once: true });
  return Promise.race([work, given.promise]).finally(() => {
    rest();
    clearTimeout(timer);
    signal.removeEventListener('abort', gone);
  });
}

const sizeOf = (bytes: number): string =>
  bytes % 2 ** 30 === 0 ? `${bytes / 2 ** 30} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;

/** The error of a command that leaves more than a workspace may have. */
export const tooLarge = ({ workspaces: { most } }: Context): NodeError =>
  new NodeError(
    'workspace_too_large',
    `the workspace is over ${sizeOf(most.bytes)}, or has over ${most.inodes.toLocaleString('en')} files`,
  );

/** Calls `full` once a workspace grew over its limits, where no file system stops it; answers how to end the watch. */
export function watchWorkspace(workspaces: Workspaces, instance: string, full: () => void): () => void {
  if (!workspaces.isWatched) return () => {};
  const outgrown = workspaces.watch(instance);
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async (): Promise<void> => {
    const began = performance.now();
    // A count that fails says nothing; the next one may.
    if (await outgrown().catch(() => false)) {
      if (!isOver) full();
    } else if (!isOver) timer = setTimeout(() => void look(), lookMs + restFactor * (performance.now() - began));
  };
  timer = setTimeout(() => void look(), lookMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** Runs a command; settles after its last event. Throws what is refused before its first. */
export async function exec(context: Context, id: string, request: ExecRequest, sink: ExecSink): Promise<void> {
  const entry = entryOf(context, id);
  const live = liveOf(entry);
  refuse(request);
  const release = occupy(entry, 'command');
  try {
    const since = Date.now() - tickMs;
    const end = await command(context, entry, live, request, sink);
    await last(context, entry, end, since, sink);
  } catch (error) {
    // It began, so its stream tells.
    if (!(error instanceof NodeError) || error.code !== 'workspace_too_large') throw error;
    sink.event({ type: 'error', code: error.code, message: error.message }, () => {});
  } finally {
    release();
  }
}

/** How the agent says that a command ended; undefined when the sandbox ended. */
async function command(
  context: Context,
  entry: Entry,
  live: Live,
  request: ExecRequest,
  sink: ExecSink,
): Promise<GuestEnd<'exec'> | undefined> {
  const { stdin, ...rest } = request;
  const hasInput = stdin !== undefined && stdin !== '';
  const decoders = { 1: new StringDecoder('utf8'), 2: new StringDecoder('utf8') };
  const untold = new Set<'start' | 'stdout' | 'stderr'>(['start', 'stdout', 'stderr']);
  const ended = Promise.withResolvers<GuestEnd<'exec'> | undefined>();
  const env = { ...environmentOf(context, entry), ...rest.env };
  const channel = live.client.open(
    { kind: 'exec', ...rest, env, ...(hasInput && { stdin: true }) },
    {
      data(bytes, stream, done) {
        const data = decoders[stream].write(bytes);
        if (data === '') done();
        else sink.event({ type: stream === 1 ? 'stdout' : 'stderr', data }, done);
      },
      event(event) {
        const what = 'start' in event ? 'start' : event.truncated;
        // An event takes no credit: each is passed on once, however often an agent says it.
        if (!untold.delete(what)) return;
        if (what === 'start') sink.event({ type: 'start' }, () => {});
        else {
          // The half of a character that the limit left.
          decoders[what === 'stdout' ? 1 : 2] = new StringDecoder('utf8');
          sink.event({ type: 'truncated', stream: what }, () => {});
        }
      },
      close(end, lost) {
        // Incomplete characters at the end of a stream.
        for (const stream of [1, 2] as const) {
          const data = decoders[stream].end();
          if (data !== '') sink.event({ type: stream === 1 ? 'stdout' : 'stderr', data }, () => {});
        }
        if (end.error) ended.reject(refusalOf(end.error));
        else ended.resolve(lost ? undefined : end);
      },
      drain: () => feed(),
    },
  );
  const feed = feeder(channel, hasInput ? Buffer.from(stdin) : undefined);
  feed();
  const { timeout_ms } = request;
  const late = { exit_code: null, timed_out: true, duration_ms: timeout_ms };
  const guard = { context, instance: live.instance.id, channel, signal: sink.signal, timeoutMs: timeout_ms };
  return guarded({ ...guard, late }, ended.promise);
}

/** Sends the standard input as fast as it is taken, then its end. */
function feeder(channel: Channel, input: Buffer | undefined): () => void {
  let at = 0;
  let isEnded = input === undefined;
  return () => {
    if (isEnded || !input) return;
    while (at < input.length) {
      const chunk = input.subarray(at, at + 65_536);
      at += chunk.length;
      if (!channel.write(chunk)) return;
    }
    isEnded = true;
    channel.eof();
  };
}

async function last(
  context: Context,
  entry: Entry,
  end: GuestEnd<'exec'> | undefined,
  since: number,
  sink: ExecSink,
): Promise<void> {
  const error = (code: NodeErrorCode, message: string) => sink.event({ type: 'error', code, message }, () => {});
  if (!end) return error('sandbox_not_running', 'the sandbox ended');
  const { instance } = entry.record;
  if (await context.workspaces.isTooLarge(instance, Date.now() - since)) throw tooLarge(context);
  const root = context.workspaces.path(instance);
  const outputs = await context.files.changed(root, 'out', since, sink.signal);
  const changed = (await hasChanged(context, entry, since)) || outputs.length > 0;
  const { exit_code, timed_out, duration_ms } = end;
  sink.event({ type: 'exit', exit_code, timed_out, duration_ms, outputs, changed }, () => {});
}

function refuse(request: ExecRequest): void {
  if (!isOneCommand(request)) throw new NodeError('bad_request', oneCommand);
  if (request.cmd?.length === 0) throw new NodeError('bad_request', 'cmd is empty');
  const names = Object.keys(request.env);
  if (names.some((name) => /^(?:SVC|CLOUD)_|[=\0]|^$/.test(name))) {
    throw new NodeError('bad_request', 'env has a name that is not allowed');
  }
}

/** The agent's refusal, under a code that exists. */
export function refusalOf({ code, message }: GuestError): NodeError {
  return new NodeError(Object.hasOwn(nodeErrors, code) ? (code as NodeErrorCode) : 'internal_error', message);
}
