import { Readable } from 'node:stream';
import type { Route } from '@svc/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../base/actor.ts';
import { Context } from '../http/context.ts';
import type { Kernel } from '../kernel.ts';
import { toApiError } from '../base/errors.ts';
import { Answer, type Operation } from '../feature.ts';
import { Frames } from '../http/frames.ts';
import { checkHandshake } from '../http/sockets.ts';
import { begunOnce, checkIdempotencyKey, once, type StoredResponse } from './idempotency.ts';
import { ignoredFields, parseInput } from './input.ts';
import { checkAnswer, LongAnswer } from './long.ts';

/** A request that was admitted, and where its answer goes. */
interface Exchange {
  kernel: Kernel;
  /** `operationId`. */
  id: string;
  operation: Operation;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** Validates the input, runs the operation, and answers in the form that its route declares. */
export async function answer(exchange: Exchange): Promise<FastifyReply> {
  const { kernel, operation, request, reply } = exchange;
  const { route } = operation;
  const ignored = ignoredFields(route, request.body);
  if (ignored !== undefined) reply.header('x-svc-ignored-fields', ignored);
  const input = parseInput(route, request);
  const { answers } = route;
  const frames =
    answers.kind === 'json' && answers.frames && wantsFrames(request) ? new Frames(reply, kernel.clock) : undefined;
  const isStreamed = answers.kind === 'bytes' && 'schemas' in answers && wantsFrames(request);
  const context = new Context(kernel, request, reply, frames, isStreamed);
  const { unread } = request.server;
  const accountId = request.actor?.accountId;
  if (accountId !== undefined) unread.check(accountId);
  if (answers.kind === 'events' || isStreamed) return answerEvents(exchange, context, input);
  if (answers.kind === 'socket') checkHandshake(request.raw);
  if (answers.kind === 'relayed' || answers.kind === 'socket') return answerRelayed(exchange, context, input);
  const work = (): Promise<StoredResponse> => execute(operation, context, input);
  if (frames) {
    await answerInFrames(exchange, context, frames, work);
    return reply;
  }
  const { status, headers, body } = await answerOnce(exchange, context, work);
  if (headers) reply.headers(headers);
  reply.code(status);
  if (answers.kind === 'nothing') return reply.send();
  if (answers.kind === 'bytes') return sendBytes(request, reply, body as Readable);
  if (answers.kind === 'text') return reply.type('text/plain; charset=utf-8').send(body);
  if (body instanceof LongAnswer) {
    if (accountId !== undefined) unread.watch(accountId, reply.raw, body.bytes);
    reply.type('application/json; charset=utf-8').header('content-length', String(body.bytes));
    return sendBytes(request, reply, Readable.from(body.pieces, { objectMode: false }));
  }
  const text = JSON.stringify(body);
  if (accountId !== undefined) unread.watch(accountId, reply.raw, text.length);
  return reply.type('application/json; charset=utf-8').send(text);
}

/** HEAD answers the head alone: nobody reads the bytes, and a source that is not read is held open. */
function sendBytes(request: FastifyRequest, reply: FastifyReply, body: Readable): FastifyReply {
  if (request.method !== 'HEAD') return reply.send(body);
  body.destroy();
  return reply.send();
}

const wantsFrames = (request: FastifyRequest): boolean =>
  request.headers.accept?.toLowerCase().includes('text/event-stream') === true;

async function answerInFrames(
  exchange: Exchange,
  context: Context,
  frames: Frames,
  work: () => Promise<StoredResponse>,
): Promise<void> {
  const { kernel, id, operation, request } = exchange;
  try {
    const { body, replayed } = await answerOnce(exchange, context, work);
    const { answers } = operation.route;
    const all = answers.kind === 'json' ? answers.framesOf(body) : [];
    for (const frame of replayed ? all : all.slice(-1)) await frames.send(frame);
    frames.end();
  } catch (error) {
    if (!frames.started) throw error;
    const failure = toApiError(error);
    // The head is out: all that is left is to say so in a frame, and to tell the log why.
    if (failure !== error) kernel.log.error({ err: error, trace: request.traceId, route: id }, 'request failed');
    await frames.fail(failure);
  }
}

/**
 * An event stream: `run` may refuse by throwing until it opens the stream; from then on frames flow until either side
 * ends it.
 */
async function answerEvents(exchange: Exchange, context: Context, input: unknown): Promise<FastifyReply> {
  const { kernel, operation, reply } = exchange;
  if (reply.request.method === 'HEAD')
    return reply.type('text/event-stream').header('cache-control', 'no-store').send();
  try {
    await operation.run(context, input as never);
  } catch (error) {
    if (!context.events) throw error;
    // The head is out: all that is left is to end the stream, and to tell the log why.
    kernel.log.error({ err: error, trace: context.traceId }, 'stream failed');
    context.events.destroy();
  }
  return reply;
}

/**
 * Relays an upstream's answer, by HTTP or a WebSocket. A refusal before the head is answered as usual; later the operation ends
 * the answer that it began.
 */
async function answerRelayed(exchange: Exchange, context: Context, input: unknown): Promise<FastifyReply> {
  const { kernel, operation, reply } = exchange;
  try {
    await operation.run(context, input as never);
  } catch (error) {
    if (!context.relay?.isOpen && !context.socket) throw error;
    kernel.log.error({ err: error, trace: context.traceId }, 'a relayed answer failed');
    context.relay?.destroy();
    context.socket?.terminate();
  }
  return reply;
}

async function execute({ route, run }: Operation, context: Context, input: unknown): Promise<StoredResponse> {
  try {
    return await checked(route, await run(context, input as never), context);
  } finally {
    context.endLong();
  }
}

async function checked({ answers }: Route, returned: unknown, { frames }: Context): Promise<StoredResponse> {
  const { status, headers, body } = returned instanceof Answer ? (returned as Answer<unknown>) : new Answer(returned);
  if (answers.kind === 'nothing') return { status: 204, headers, body: undefined };
  if (answers.kind === 'text') return { status: 200, headers, body: answers.schema.parse(body) };
  if (answers.kind !== 'json') return { status: status ?? 200, headers, body };
  const answered = status ?? answers.status;
  const schema = answers.statuses[answered];
  if (!schema) throw new Error(`no response schema for ${answered}`);
  return { status: answered, headers, body: frames ? schema.parse(body) : await checkAnswer(schema, body) };
}

/** Does the work, or answers what was stored for the request's `Idempotency-Key` where the route honours one. */
async function answerOnce(
  { kernel, id, operation, request, reply }: Exchange,
  context: Context,
  work: () => Promise<StoredResponse>,
): Promise<StoredResponse & { replayed: boolean }> {
  const key = operation.route.idempotent ? request.headers['idempotency-key'] : undefined;
  if (typeof key !== 'string') return { ...(await work()), replayed: false };
  checkIdempotencyKey(key);
  const { accountId, credentialId: keyId } = request.actor as Actor;
  const { url, body, bodyHash } = request;
  const credential = operation.route.shownOnce ? request.credential : undefined;
  const asked = { accountId, keyId, route: id, key, url, body, bodyHash, credential };
  context.lastStatement = begunOnce(kernel, asked);
  const response = await once(kernel, asked, work);
  if (response.replayed) reply.header('idempotency-replayed', 'true');
  return response;
}
