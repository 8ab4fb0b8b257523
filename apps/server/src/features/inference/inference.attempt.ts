import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { createHash } from 'node:crypto';
import {
  countOf,
  isFailure,
  isObject,
  masked,
  noUsage,
  objectOf,
  refusalIn,
  refusalOf,
  type RefusalWords,
  type Usage,
} from '@svc/inference';
import { ApiError } from '../../kernel/base/errors.ts';
import type { RelayedAnswer } from '../../kernel/http/relay.ts';
import { LongBody, type Upstream, type UpstreamAnswer } from '../../kernel/outside/upstream.ts';
import type { Lane } from '../providers/index.ts';
import type { Timers } from './inference.timers.ts';

/**
 * A lane did not answer, and another one may. The message is for the log and for the client when all fail: it holds no key
 * and no text of a client.
 */
export class LaneFailure extends Error {
  override name = 'LaneFailure';
  /** It is left alone for so long. */
  readonly coolMs: number;
  /** It has too much to do: a client may come back after this. */
  readonly retryAfterSeconds: number | undefined;
  /** All of the lane is out of order, not what was asked of one model by one route. */
  readonly isOfLane: boolean;
  /** It refused what it was asked, and the file says who may do better. */
  readonly reason: 'content' | undefined;
  /** Its lane, once it is known. */
  lane: string | undefined;

  constructor(message: string, coolMs: number, { isOfLane = false, retryAfterSeconds, reason }: FailureKind = {}) {
    super(message);
    this.reason = reason;
    this.coolMs = coolMs;
    this.isOfLane = isOfLane;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
type FailureKind = { isOfLane?: boolean; retryAfterSeconds?: number; reason?: 'content' };

/** After a failure that may be over soon. */
const shortMs = 5_000;
/** After one that somebody has to mend: a key that is refused, a model that is not there. */
const longMs = 60_000;
const busyMs = 30_000;
const longestBusyMs = 600_000;
/** Bytes kept of an answer that is not streamed. */
const mostAnswerBytes = 64 * 1024 * 1024;
const mostRefusalBytes = 64 * 1024;

/** Headers of a client that go to a lane of its own protocol: beta headers, versions; nothing of the caller's own. */
const kept = /^(?:anthropic-(?:beta|version)|openai-beta|x-stainless-.*|user-agent)$/;

/** Headers of a request to a lane. Throws `LaneFailure` when it has no key. */
export async function headersFor(
  lane: Lane,
  isSame: boolean,
  given: IncomingHttpHeaders,
): Promise<Record<string, string>> {
  const own = isSame
    ? Object.entries(given).filter(([name, value]) => kept.test(name) && typeof value === 'string')
    : [];
  const headers: Record<string, string> = { 'content-type': 'application/json', ...Object.fromEntries(own) };
  if (lane.protocol === 'messages') headers['anthropic-version'] ??= '2023-06-01';
  return Object.assign(headers, await withKey(lane, (key) => lane.wire.authorize(key)));
}

/** The headers that a lane's key gives a request. Throws `LaneFailure` when the key is missing or of the wrong kind. */
async function withKey(lane: Lane, use: (key: string) => Record<string, string>): Promise<Record<string, string>> {
  try {
    const key = await lane.key.read();
    return key === undefined ? {} : use(key);
  } catch (error) {
    throw new LaneFailure(`it is off: ${(error as Error).message}`, longMs, { isOfLane: true });
  }
}

/** Of a lane that signs: over the head and the bytes that go out. */
async function signed(
  lane: Lane,
  url: URL,
  headers: Record<string, string>,
  body: Sent,
): Promise<Record<string, string>> {
  const { sign } = lane.wire;
  if (!sign) return headers;
  const { 'content-type': type = 'application/json' } = headers;
  const bodySha256 = () => (body instanceof LongBody ? body.sha256() : createHash('sha256').update(body).digest('hex'));
  const request = { method: 'POST', url, headers: { 'content-type': type }, bodySha256 };
  return { ...headers, ...(await withKey(lane, (key) => sign(key, request))) };
}

type Sent = Buffer | string | LongBody;

/** Asks a lane; answers the head of a success. Throws `LaneFailure`, or an error for the client about its own fault. */
export async function askLane(
  upstream: Upstream,
  lane: Lane,
  request: { path: string; headers: Record<string, string>; body: Sent },
  timers: Timers,
): Promise<UpstreamAnswer> {
  const { path, body } = request;
  const url = lane.wire.urlOf(lane.baseUrl + path);
  const headers = await signed(lane, url, request.headers, body);
  let answer: UpstreamAnswer;
  try {
    const { signal } = timers;
    answer = await upstream.ask(url.href, {
      method: 'POST',
      headers,
      body,
      signal,
      connectMs: lane.connectMs,
    });
  } catch (error) {
    throw new LaneFailure(timers.passed ?? reasonOf(error), shortMs, { isOfLane: timers.passed === undefined });
  }
  if (answer.status >= 200 && answer.status < 300) return answer;
  const text = await readWhole(answer.body, mostRefusalBytes).catch(() => Buffer.alloc(0));
  throw refusedBy(lane, answer, refusalIn(hidden(text.toString('utf8'), lane, headers)));
}

/** The network's code, or the error's name. Its message may hold an address, so nobody gets it. */
const reasonOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
};

/** A provider refuses the request itself, in its own words. */
export class Refusal extends ApiError {
  override name = 'Refusal';
  /** Why, where another lane may do better: it reads more, or refuses less. */
  readonly reason: 'context' | 'content' | undefined;

  constructor(status: number, message: string, words: Omit<Partial<RefusalWords>, 'message'>) {
    const code = status === 413 ? 'payload_too_large' : status === 422 ? 'upstream_rejected' : 'bad_request';
    super(code, message, { told: words });
    const text = `${words.code ?? ''} ${words.type ?? ''} ${message}`;
    this.reason = contextWords.test(text) ? 'context' : contentWords.test(text) ? 'content' : undefined;
  }
}
/** It answered, and refused without a word. */
export const refusedEmpty = (): LaneFailure => new LaneFailure('it refused the request', 0, { reason: 'content' });

const contextWords =
  /context_length_exceeded|prompt is too long|maximum context|context (?:length|window|size)|exceeds? the .{0,20}context/i;
const contentWords = /content_filter|content_policy|content_management|moderation|safety system|ResponsibleAI/i;

/** A fault of the request is for the client to fix; any other failure may not happen on another lane. */
function refusedBy(lane: Lane, { status, headers }: UpstreamAnswer, said: RefusalWords | undefined): Error {
  const what = `it answered ${status}`;
  if (status === 400 || status === 413 || status === 422) {
    const message = said?.message ?? `the model's provider refused the request with ${status}`;
    return new Refusal(status, message, said ?? {});
  }
  if (status === 429 || status === 529) {
    const seconds = secondsOf(headers['retry-after'], dateOf(headers));
    const ms = seconds === undefined ? busyMs : Math.min(seconds * 1000, longestBusyMs);
    return new LaneFailure(what, ms, { isOfLane: true, retryAfterSeconds: seconds ?? Math.ceil(ms / 1000) });
  }
  if (status === 401) lane.key.forget();
  const isShort = status >= 500 || status === 408 || status === 409;
  return new LaneFailure(what, isShort ? shortMs : longMs, { isOfLane: status >= 500 || status === 401 });
}

/** Now, by the provider's own clock, which its dates stand on. */
const dateOf = ({ date }: IncomingHttpHeaders): number => Date.parse(date ?? '');

function secondsOf(value: string | string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string') return undefined;
  // RFC 9110: seconds, or the date when it may be tried again.
  const seconds = /^\s*[\d.]+\s*$/.test(value) ? Number(value) : (Date.parse(value) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}

/** A provider may repeat the key that it got, or what was made of it: any part of it that is a secret by itself. */
export function hidden(text: string, { key: { last: key } }: Lane, headers: Record<string, string> = {}): string {
  const sent = Object.entries(headers).flatMap(([name, value]) => (isOpen.test(name) ? [] : value.split(/\s+/)));
  const parts = key === undefined || key.startsWith('{') ? [] : key.split(':');
  return masked(text, [key, ...[...sent, ...parts].filter((part) => part.length >= leastSecret)]);
}
/** Headers that hold no secret. */
const isOpen = /^(?:content-type|user-agent|anthropic-.*|openai-.*|x-stainless-.*|x-amz-date|idempotency-key)$/;
const leastSecret = 8;

/** JSON, or undefined. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** All bytes of an answer that is not streamed. */
async function readWhole(body: Readable, most = mostAnswerBytes): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > most) throw new LaneFailure(`its answer is over ${most} bytes`, shortMs);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** Relays an answer's bytes as they come; of JSON the usage is read. A cut answer is cut for the client too. */
export async function relayBytes(
  answer: UpstreamAnswer,
  relay: RelayedAnswer,
  timers: Timers,
  head: Readonly<Record<string, string>>,
): Promise<{ counted: Usage | undefined; isWhole: boolean }> {
  const type = answer.headers['content-type'] ?? 'application/octet-stream';
  const kept: Buffer[] = [];
  let keptBytes = type.includes('json') ? 0 : mostRefusalBytes;
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      if (!relay.isOpen) relay.open(200, { ...head, 'content-type': type });
      timers.content();
      keptBytes += chunk.length;
      if (keptBytes <= mostRefusalBytes) kept.push(chunk);
      await timers.held(relay.write(chunk));
    }
  } catch (error) {
    if (!relay.isOpen) throw new LaneFailure(timers.passed ?? reasonOf(error), shortMs);
    timers.isCut = true;
    return { counted: undefined, isWhole: false };
  }
  if (!relay.isOpen) throw new LaneFailure('its answer is empty', shortMs);
  const body = parsed(Buffer.concat(kept).toString('utf8'));
  return { counted: readTokens(objectOf(body)['usage']), isWhole: true };
}

/** Usage of media: `input_tokens`, `output_tokens`. */
function readTokens(usage: unknown): Usage | undefined {
  const { input_tokens: input, output_tokens: output } = objectOf(usage);
  if (typeof input !== 'number') return undefined;
  return { ...noUsage, input: countOf(input), output: countOf(output) };
}

/** Some say why they failed with the status of a success. */
function notOfProtocol(body: unknown): string {
  const said = isFailure(body) ? refusalOf(body) : undefined;
  return `its answer is none of its protocol${said ? `: ${said.message}` : ''}`;
}

/** Throws `LaneFailure` for an answer in JSON where a stream was asked for. */
export async function expectStream({ headers, body }: UpstreamAnswer): Promise<void> {
  if (!/^application\/(?:problem\+)?json/.test(headers['content-type'] ?? '')) return;
  const text = await readWhole(body, mostRefusalBytes).catch(() => Buffer.alloc(0));
  throw new LaneFailure(notOfProtocol(parsed(text.toString('utf8'))), shortMs);
}

/** A whole answer, read; throws `LaneFailure` when it lacks the list that its protocol has, if it has one. */
export async function readAnswer(answer: UpstreamAnswer, timers: Timers, list: string | undefined) {
  let bytes: Buffer;
  try {
    bytes = await readWhole(answer.body);
  } catch (error) {
    if (error instanceof LaneFailure) throw error;
    throw new LaneFailure(timers.passed ?? reasonOf(error), shortMs);
  }
  const body = parsed(bytes.toString('utf8'));
  if (!isObject(body) || (list !== undefined && !Array.isArray(body[list])))
    throw new LaneFailure(notOfProtocol(body), shortMs);
  return { bytes, body };
}
