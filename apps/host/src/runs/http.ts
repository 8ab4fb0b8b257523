import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { HttpTaskError, mostBytes, parseSpec, perform, type TaskAnswer } from '@svc/http-task';
import { decodedBody, type Hop, readBody } from '@svc/http-task/hops';
import { outboundErrorOf } from '@svc/netguard/faults';
import { OpError } from '../failure.ts';
import { type Execution, reasonOf, type RunTask } from './context.ts';
import type { RunOutcome } from './journal.ts';
import { createScrubber } from './scrub.ts';
import { createTail } from './tail.ts';

/**
 * Calls a webhook from this machine. Addresses of its own network are allowed: that a person chose this machine as the
 * target is how such an address is reached at all.
 */
export async function runHttp(task: RunTask, { machine, signal, onTail }: Execution): Promise<RunOutcome> {
  const tail = createTail(createScrubber(new Map([['key', machine.key]])), task.ignore);
  onTail(tail);
  try {
    const { ok, error, text } = await perform(parseSpec(task.spec), (hop) => send(hop, signal));
    tail.push(Buffer.from(text));
    return { ok, ...(error !== undefined && { error }) };
  } catch (error) {
    if (signal.aborted) throw reasonOf(signal);
    if (error instanceof HttpTaskError) throw new OpError(error.message, { cause: error });
    throw new OpError(outboundErrorOf(error).message, { cause: error });
  } finally {
    tail.end();
  }
}

/** One request; throws as Node.js does. */
async function send({ url, method, headers, body = '' }: Hop, signal: AbortSignal): Promise<TaskAnswer> {
  const sent = request(url, { method, headers: { ...headers, connection: 'close' }, signal });
  // Of a method that seldom has a body Node.js would say no length.
  if (body.length > 0) sent.setHeader('content-length', Buffer.byteLength(body));
  // What comes after the answer says nothing more.
  sent.on('error', () => {});
  try {
    sent.end(body);
    const [response] = (await once(sent, 'response', { signal })) as [IncomingMessage];
    const head = { status: response.statusCode ?? 0, headers: response.headers };
    const kept = await readBody(decodedBody(method, head, response), mostBytes);
    return { ...kept, status: head.status, location: head.headers.location };
  } finally {
    sent.destroy();
  }
}
