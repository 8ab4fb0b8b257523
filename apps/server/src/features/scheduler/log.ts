import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { contract } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { EventStream } from '../../kernel/streams/sse.ts';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import { readLog } from './logs/store.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { findRun, type RunRow } from './scheduler.sql.ts';
import { runStates } from './scheduler.states.ts';

const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
/** A follower looks again this often by itself: a message may be lost. */
const lookAgainMs = 2_000;
/** A client that takes nothing for so long is gone. */
const stalledMs = 60_000;
/** Of the log in one event: far less than what a stream may be behind. */
const eventBytes = 64 * 1024;

/** Answers the log of a run as it is now, or streams it as it is written. */
export const log = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.log, async (context, { params, query }) => {
    const { kernel, actor } = context;
    const run = await findRun(kernel.sql, params.id, actor.accountId);
    if (!run) throw notFound('run');
    if (!context.isStreamed) return new Answer(Readable.from(readLog(kernel, run.id, query.from)), { headers });
    const stream = context.openEvents();
    void follow(parts, context, stream, run, query.from).catch((err: unknown) => {
      context.log.error({ err, run: run.id }, 'a log could not be followed');
      stream.destroy();
    });
    return Readable.from([]);
  });

/** Sends a log from a byte on until its run is over. */
async function follow(
  parts: SchedulerParts,
  { kernel }: Pick<Context, 'kernel'>,
  stream: EventStream,
  { id, account_id: accountId }: RunRow,
  from: number,
): Promise<void> {
  const decoder = new StringDecoder('utf8');
  const over = new AbortController();
  stream.onClose(() => over.abort());
  let at = from;
  while (!over.signal.aborted) {
    // Before looking: what comes in between is not slept over, and what a run wrote is here before its end.
    const woken = parts.changes.nextLog(id, lookAgainMs, over.signal);
    const run = await findRun(kernel.sql, id, accountId);
    for await (const piece of inPieces(readLog(kernel, id, at))) {
      const frame = { from: at, text: decoder.write(piece) };
      at += piece.length;
      if (frame.text !== '' && !(await send(kernel, stream, 'log', frame))) return;
    }
    if (!run || runStates.isFinal(run.state)) {
      await send(kernel, stream, 'end', { state: run?.state ?? 'deleted', bytes: at });
      stream.end();
      return;
    }
    await woken;
  }
}

async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += eventBytes) yield chunk.subarray(at, at + eventBytes);
  }
}

/** Sends a frame as soon as there is room for it; false once the client is gone, or takes nothing for a minute. */
async function send({ clock }: Kernel, stream: EventStream, event: string, data: object): Promise<boolean> {
  const json = JSON.stringify(data);
  const giveUp = clock.after(stalledMs, () => stream.destroy());
  try {
    while (!stream.closed) {
      if (stream.offer(event, json)) return true;
      await stream.drained();
    }
    return false;
  } finally {
    giveUp();
  }
}
