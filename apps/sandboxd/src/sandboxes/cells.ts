import { withoutPartial } from '@svc/contract';
import type { CodeRequest, CodeResult } from '@svc/sandboxd-api';
import { NodeError } from '../error.ts';
import { type CellError, type GuestEnd, isRefusal } from '../wire/messages.ts';
import { guarded, refusalOf, starvedMs, tickMs, tooLarge } from './commands.ts';
import { type Context, entryOf, environmentOf, hasChanged, liveOf, occupy } from './context.ts';
import { inTime } from './instances.ts';

/** How a cell that was not refused ended. */
type CellEnd = GuestEnd<'code'> & { error: CellError | null };

/** The agent cuts each stream of a cell at 1 MiB; one that lies does not. */
const mostText = 1_048_576;

/** Runs a cell in the Python kernel. */
export async function runCode(
  context: Context,
  id: string,
  request: CodeRequest,
  signal: AbortSignal,
): Promise<CodeResult> {
  const entry = entryOf(context, id);
  const live = liveOf(entry);
  const release = occupy(entry, 'cell');
  const text = { 1: [] as Buffer[], 2: [] as Buffer[] };
  const bytes = { 1: 0, 2: 0 };
  const truncated = new Set<'stdout' | 'stderr'>();
  const began = Date.now();
  try {
    const ended = Promise.withResolvers<CellEnd>();
    const channel = live.client.open(
      { kind: 'code', ...request, env: environmentOf(context, entry) },
      {
        data(chunk, stream, done) {
          bytes[stream] += chunk.length;
          if (bytes[stream] <= mostText) text[stream].push(Buffer.from(chunk));
          done();
        },
        event: (event) => void truncated.add(event.truncated),
        close(end, lost) {
          const { error } = end;
          if (lost) ended.reject(new NodeError('sandbox_not_running', 'the sandbox ended'));
          else if (isRefusal(error)) ended.reject(refusalOf(error));
          else ended.resolve({ ...end, error });
        },
      },
    );
    const error = { name: 'TimeoutError', value: 'the sandbox did not end the cell in time', traceback: '' };
    const { timeout_ms } = request;
    const late = {
      result: null,
      error,
      images: [],
      cut: [],
      duration_ms: timeout_ms,
      execution_count: 0,
      kernel_restarted: true,
    };
    const guard = { context, instance: live.instance.id, channel, signal, timeoutMs: timeout_ms };
    const end = await guarded({ ...guard, late }, ended.promise);
    if (await context.workspaces.isTooLarge(entry.record.instance, Date.now() - began)) throw tooLarge(context);
    return {
      stdout: textOf(text[1], truncated.has('stdout')),
      stderr: textOf(text[2], truncated.has('stderr')),
      truncated: [...truncated, ...end.cut],
      ...shownOf(end),
      changed: await hasChanged(context, entry, began - tickMs),
    };
  } finally {
    release();
  }
}

/** A stream of a cell; one that was cut ends with a whole character. */
function textOf(chunks: Buffer[], isCut: boolean): string {
  const bytes = Buffer.concat(chunks);
  return (isCut ? withoutPartial(bytes) : bytes).toString();
}

/** The fields of an answer that the agent has said, and no others. */
function shownOf({ result, error, images, duration_ms, execution_count, kernel_restarted, restart_reason }: CellEnd) {
  const reason = restart_reason === undefined ? {} : { restart_reason };
  return { result, error, duration_ms, execution_count, kernel_restarted, ...reason, images };
}

/** Starts the Python kernel anew, also under a cell, whose caller is told; the files stay. */
export async function resetKernel(context: Context, id: string): Promise<void> {
  const entry = entryOf(context, id);
  const live = liveOf(entry);
  // A running command goes on, a running cell ends; only a snapshot needs the sandbox for itself.
  const isRunning = entry.busy === 'command' || entry.busy === 'cell';
  const release = isRunning ? () => {} : occupy(entry, 'reset');
  try {
    await inTime(live.client.ask({ kind: 'reset' }), starvedMs);
  } finally {
    release();
  }
}
