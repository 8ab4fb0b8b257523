import {
  frameOf,
  hasTooManyCalls,
  limitOf,
  mendedReply,
  missingSignatures,
  objectOf,
  type Protocol,
  plainText,
  readChatUsage,
  renamedCalls,
  reshapeJson,
  spliceJson,
  systemName,
  type Target,
  type Translated,
  tooManyCalls,
  toolNames,
  translate,
  type Value,
  wires,
  withoutInstructions,
  withoutSealed,
} from '@svc/inference';
import type { Context } from '../../kernel/http/context.ts';
import { RestingBody } from '../../kernel/http/resting.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { LongBody } from '../../kernel/outside/upstream.ts';
import type { Choice, Most } from '../providers/index.ts';
import { keepStored } from './inference.admit.ts';
import {
  askLane,
  expectStream,
  headersFor,
  LaneFailure,
  readAnswer,
  refusedEmpty,
  relayBytes,
} from './inference.attempt.ts';
import type { Bill } from './inference.meter.ts';
import { StreamRelay } from './inference.stream.ts';
import type { Timers } from './inference.timers.ts';

/** A client's request, as its protocol says it. */
export interface Asked {
  protocol: Protocol;
  /** Parsed; the bytes are `context.bodyBytes`. */
  body: Value & { model: string; stream?: boolean | undefined };
}

/** A request of one of the three protocols, as it goes to lanes. */
interface Question {
  protocol: Protocol;
  resting: RestingBody<Asked['body']>;
  isStreamed: boolean;
  /** The client of a chat stream wants its usage. */
  tellsUsage: boolean;
  /** The provider of a response keeps it, so that it can be gone on from. */
  isKept: boolean;
  /** Fields that bound it, when its key has a cap. */
  fields: Record<string, unknown> | undefined;
}

/** One lane that is asked for one request. */
interface Exchange {
  kernel: Kernel;
  context: Context;
  choice: Choice;
  timers: Timers;
  bill: Bill;
}

/** A request of media: where it goes, its body for the lane's name of the model, and the most that it may take. */
export interface Media {
  path: string;
  most: Most;
  bodyFor(model: string): Promise<MediaBody> | MediaBody;
}
type MediaBody = { body: Buffer; type: string };

const streamCost = { 'x-svc-cost-estimate': 'pending' };

/** Headers of every stream of events. */
const streamHead = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  ...streamCost,
};

/** Signs that a stream lives: clients of messages know `ping`, any reader of events a comment. */
const signs: Readonly<Record<Protocol, string>> = {
  chat: ': ping\n\n',
  messages: frameOf({ type: 'ping' }, 'ping'),
  responses: ': ping\n\n',
};

/** Shows the client of a stream every 15 s of silence that it lives, from now until what this answers is called. */
export const keepAlive = (context: Context, protocol: Protocol): (() => void) =>
  context.openRelay().keepAlive(streamHead, signs[protocol]);

/** The request for lanes; `fields` bound it when its key has a cap. */
export const questionOf = (context: Context, { protocol, body }: Asked, fields: Question['fields']): Question => ({
  protocol,
  resting: new RestingBody(context, body),
  isStreamed: body.stream === true,
  tellsUsage: asksUsage(body),
  isKept: protocol === 'responses' && body['store'] !== false,
  fields,
});

/** Asks a lane, and answers the client, streamed or whole. */
export async function exchange(parts: Exchange, question: Question): Promise<void> {
  const { protocol } = question;
  const { kernel, context, choice, timers, bill } = parts;
  const { lane } = choice;
  const isSame = lane.protocol === protocol;
  const keep = async (response: Value): Promise<void> => {
    if (isSame && question.isKept) await keepStored(kernel, context.actor, lane.id, response);
  };
  const { request, dropped, tools, bytes: sentBytes } = await requestFor(parts, question);
  const answer = await askLane(kernel.upstream, lane, request, timers);
  const created = Math.floor(kernel.clock.now() / 1000);
  const head = headOf(lane.id, dropped);
  if (question.isStreamed) {
    await expectStream(answer);
    const relay = context.openRelay();
    const { tellsUsage } = question;
    const passesRefusal = lane.onRefusal === undefined || choice.after !== undefined;
    const at = { client: protocol, lane: lane.protocol, tools };
    const wanted = { ...at, tellsUsage, created, head: { ...head, ...streamHead } };
    const stream = new StreamRelay(
      { ...wanted, passesRefusal, onContent: () => context.dropBody(), onLast: keep },
      relay,
      timers,
    );
    const isWhole = await stream.run(answer.body);
    timers.stop();
    if (!isWhole || timers.isLeft) answer.body.destroy();
    else drain(answer.body, kernel);
    const guess = { letters: stream.letters, bytes: sentBytes };
    await bill.close(choice, stream.usage, { status: timers.isLeft ? 499 : 200, guess, sent: relay.bytes });
    relay.end();
    return;
  }
  const { bytes: whole, body: said } = await readAnswer(answer, timers, wires[lane.protocol].list);
  timers.stop();
  if (hasTooManyCalls(lane.protocol, said)) throw new LaneFailure(tooManyCalls, 5_000);
  refuseEmpty(choice, said);
  await keep(said);
  const usage = wires[lane.protocol].readUsage(said);
  const text = isSame
    ? mended(protocol, whole, said)
    : Buffer.from(JSON.stringify(wires[protocol].writeReply(wires[lane.protocol].readReply(said), created)));
  const guess = { letters: whole.length, bytes: sentBytes };
  const cost = await bill.close(choice, usage, { status: 200, guess, sent: text.length });
  await sendWhole(context, text, { ...head, 'x-svc-cost-micro-usd': String(cost) });
}

/** The request to a lane. A function of its own: none of its values stay in memory while a long request is answered. */
async function requestFor({ kernel, context, choice }: Exchange, { protocol, resting, fields }: Question) {
  const { lane } = choice;
  const { body, bytes } = await resting.wake();
  const isSame = lane.protocol === protocol;
  const { dropped, sent: written } = isSame
    ? sameRequest({ protocol, body, bytes, fields }, choice)
    : translated(translate(protocol, { ...body, ...fields }, targetOf(choice)));
  const { sent, left } = reshaped(written, choice);
  const headers = {
    ...(await headersFor(lane, isSame, context.headers)),
    ...(isSame && scopedKey(kernel, context, choice)),
  };
  const toSend = resting.isLong ? new LongBody(sent, () => resting.rest()) : sent;
  return {
    request: { path: wires[lane.protocol].path, headers, body: toSend },
    dropped: [...dropped, ...left],
    tools: toolNames(body),
    bytes: bytes.length,
  };
}

/** An answer's own bytes, but for calls that its client could not tell apart. */
function mended(protocol: Protocol, bytes: Buffer, said: Value): Buffer {
  const fields = mendedReply(protocol, said);
  return Object.keys(fields).length === 0 ? bytes : spliceJson(bytes, fields);
}

/** Asks a lane for vectors; nothing is translated. */
export async function exchangeVectors({ kernel, context, choice, timers, bill }: Exchange): Promise<void> {
  const { lane, model } = choice;
  const headers = { ...(await headersFor(lane, true, context.headers)), ...scopedKey(kernel, context, choice) };
  const request = {
    path: '/embeddings',
    headers,
    body: reshaped(spliceJson(context.bodyBytes, { model }), choice).sent,
  };
  const answer = await askLane(kernel.upstream, lane, request, timers);
  const { bytes, body: said } = await readAnswer(answer, timers, 'data');
  timers.stop();
  const closing = { status: 200, guess: { bytes: context.bodyBytes.length, letters: 0 }, sent: bytes.length };
  const cost = await bill.close(choice, readChatUsage(said['usage']), closing);
  await sendWhole(context, bytes, { 'x-svc-lane': lane.id, 'x-svc-cost-micro-usd': String(cost) });
}

/** Where a lane of messages counts tokens. */
export const countPath = '/v1/messages/count_tokens';

/** Asks a lane of messages how many tokens a request sends. */
export async function exchangeCount(
  { kernel, context, choice, timers }: Omit<Exchange, 'bill'>,
  body: Asked['body'],
): Promise<void> {
  const { lane } = choice;
  const headers = await headersFor(lane, true, context.headers);
  // As the request itself would go: what its provider refuses there, it refuses here.
  const asked = { protocol: 'messages', body, bytes: context.bodyBytes, fields: undefined } as const;
  const { sent, dropped } = sameRequest(asked, choice);
  const request = { path: countPath, headers, body: reshaped(sent, choice).sent };
  const answer = await askLane(kernel.upstream, lane, request, timers);
  const { bytes, body: said } = await readAnswer(answer, timers, undefined);
  timers.stop();
  if (typeof said['input_tokens'] !== 'number') throw new LaneFailure('it counted nothing', 5_000);
  await sendWhole(context, bytes, headOf(lane.id, dropped));
}

/** Asks a lane for media, and answers the bytes that come back as they come. */
export async function exchangeBytes({ kernel, context, choice, timers, bill }: Exchange, media: Media): Promise<void> {
  const { lane, model } = choice;
  const { body: sent, type } = await media.bodyFor(model);
  const headers = { ...(await headersFor(lane, true, context.headers)), 'content-type': type };
  const answer = await askLane(kernel.upstream, lane, { path: media.path, headers, body: sent }, timers);
  const relay = context.openRelay();
  const { counted, isWhole } = await relayBytes(answer, relay, timers, { 'x-svc-lane': lane.id, ...streamCost });
  timers.stop();
  const guess = { bytes: 0, letters: 0 };
  await bill.close(choice, counted, { status: timers.isLeft ? 499 : 200, guess, sent: relay.bytes });
  if (isWhole) relay.end();
  else relay.destroy();
}

/** A refusal without a word is another lane's to answer, where the file names one. */
function refuseEmpty({ lane, after }: Choice, said: Value): void {
  if (lane.onRefusal === undefined || after) return;
  const { finish, blocks } = wires[lane.protocol].readReply(said);
  if (finish === 'refusal' && plainText(blocks) === '') throw refusedEmpty();
}

/**
 * The client's idempotency key as its provider gets it: two accounts that choose the same one share no answer, and a lane
 * that steps in for another one is asked for itself.
 */
function scopedKey({ keyring }: Kernel, { actor, headers }: Context, { lane, model }: Choice): Record<string, string> {
  const { 'idempotency-key': given } = headers;
  if (typeof given !== 'string') return {};
  const key = keyring.mac('upstream-idempotency', JSON.stringify([actor.accountId, lane.id, model, given]));
  return { 'idempotency-key': key.toString('hex') };
}

/** Sends an answer that is whole. */
export async function sendWhole(context: Context, text: Buffer, headers: Record<string, string>): Promise<void> {
  const relay = context.openRelay();
  const type = { 'content-type': 'application/json; charset=utf-8', 'content-length': String(text.length) };
  relay.open(200, { ...type, ...headers });
  await relay.write(text);
  relay.end();
}

/** Reads past what follows the last word, so that the connection can be used again. */
export function drain(body: NodeJS.ReadableStream & { destroy(): unknown }, { clock }: Pick<Kernel, 'clock'>): void {
  const cancel = clock.after(1_000, () => body.destroy());
  body.once('close', cancel);
  body.resume();
}

const asksUsage = (body: Value): boolean => objectOf(body['stream_options'])['include_usage'] === true;

/** The client's own bytes, within its bounds, with the lane's name of the model; of a chat stream the usage is asked for too. */
function sameRequest(
  { protocol, body, bytes, fields }: Asked & Pick<Question, 'fields'> & { bytes: Buffer },
  { lane, model }: Choice,
): { sent: Buffer; dropped: string[] } {
  if (protocol !== 'chat') {
    const refuses = protocol === 'messages' && lane.dialectOf(model).systemTurns === false;
    const told = refuses ? withoutInstructions(body) : {};
    // What a lane of chat completions wants back, a provider of this protocol refuses.
    const cleaned = withoutSealed(protocol === 'messages' ? 'messages' : 'input', { ...body, ...told });
    const renamed = renamedCalls(protocol, { ...body, ...told, ...cleaned });
    const sent = spliceJson(bytes, { ...fields, ...told, ...cleaned, ...renamed, model });
    return { sent, dropped: told.messages ? [systemName(protocol)] : [] };
  }
  const bounded = { ...body, ...fields };
  const asks = body.stream === true && !asksUsage(body) && includingUsage(body);
  // A server that knows the older name alone would go on without a limit.
  const { max_completion_tokens: limit } = bounded;
  const isUnnamed = typeof limit === 'number' && bounded['max_tokens'] === undefined;
  const isOlder = (fields !== undefined || lane.namesLimit) && lane.dialectOf(model).limit !== 'max_completion_tokens';
  const { signatures } = lane.dialectOf(model);
  const renamed = renamedCalls(protocol, body);
  const signed = signatures && missingSignatures({ ...body, ...renamed }['messages']);
  const older = isUnnamed && isOlder && { max_tokens: limit };
  return { sent: spliceJson(bytes, { ...fields, model, ...asks, ...renamed, ...signed, ...older }), dropped: [] };
}

const includingUsage = (body: Value) => ({
  stream_options: { ...objectOf(body['stream_options']), include_usage: true },
});

/** A turn's request within its bounds: where nothing limits it, `limit` does. */
export function limited(text: string, { lane, model }: Choice, limit: number): string {
  const body = JSON.parse(text) as Value;
  if (limitOf(body) !== undefined) return text;
  const isOlder = lane.dialectOf(model).limit === 'max_tokens';
  const names = { chat: isOlder ? 'max_tokens' : 'max_completion_tokens', messages: 'max_tokens' } as const;
  const name = lane.protocol === 'responses' ? 'max_output_tokens' : names[lane.protocol];
  return JSON.stringify({ ...body, [name]: limit });
}

/** A request in its provider's names, and what the provider does not know of it. */
export function reshaped(sent: Buffer | string, { lane, model }: Choice): { sent: Buffer | string; left: string[] } {
  const reshaping = lane.reshapingOf(model);
  if (!reshaping) return { sent, left: [] };
  const { text, dropped } = reshapeJson(Buffer.from(sent), reshaping);
  return { sent: text, left: dropped };
}

const translated = ({ body, dropped }: Translated) => ({ dropped, sent: JSON.stringify(body) });

const mostNames = 20;
/** Names of fields as a header takes them: a client may have made them up. */
const headerOf = (names: readonly string[]): string =>
  names
    .slice(0, mostNames)
    .map((name) => name.slice(0, 60).replaceAll(/[^\w.-]/g, '_'))
    .join(', ');

/** Headers of an answer: who gave it, and what of the request it did not get. */
const headOf = (lane: string, dropped: readonly string[]): Record<string, string> => ({
  'x-svc-lane': lane,
  ...(dropped.length > 0 && { 'x-svc-dropped': headerOf(dropped) }),
});

/** The target of a translation: the lane's protocol, model and limits. */
export const targetOf = ({ lane, model }: Choice): Target => ({
  protocol: lane.protocol,
  model,
  dialect: lane.dialectOf(model),
  maxTokens: lane.maxOutputTokens,
});
