import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { isObject, masked, refusalIn, type Value } from '@svc/inference';
import type { Clock } from '../../../kernel/base/clock.ts';
import { longMs, ProviderFailure } from '../speech.errors.ts';
import type { Asking, SpeechWindow } from './kind.ts';

/** An answer of 15 min has 1 MB; one that is larger than this is none. */
const mostBytes = 32 * 1024 * 1024;
const mostRefusalBytes = 64 * 1024;
const mostWords = 300;
const busyMs = 30_000;
/** Some say 0, and mean soon. */
const leastBusyMs = 1_000;
const longestBusyMs = 600_000;

interface Question {
  method: 'POST' | 'GET' | 'DELETE';
  /** Begins with a slash. */
  path: string;
  headers: Record<string, string>;
  body?: string | Sent;
}

/** A body that is read while it is sent. */
interface Sent {
  stream: Readable;
  length: number;
}

/** Asks a provider; answers the JSON object that it says. Throws `ProviderFailure` for everything else. */
export async function askJson(asking: Asking, { method, path, headers, body }: Question): Promise<Value> {
  const { kernel, entry, signal } = asking;
  try {
    const sent = { method, headers, signal, connectMs: entry.connectMs, ...(body !== undefined && { body }) };
    const answer = await kernel.upstream.ask(entry.baseUrl + path, sent);
    const isWell = answer.status >= 200 && answer.status < 300;
    const bytes = await readWhole(answer.body, isWell ? mostBytes : mostRefusalBytes, isWell);
    if (!isWell) throw refusalOf(asking, answer.status, answer.headers, bytes.toString('utf8'));
    const said = parsed(bytes.toString('utf8'));
    if (!isObject(said)) throw new ProviderFailure('its answer is no JSON object');
    return said;
  } catch (error) {
    if (error instanceof ProviderFailure) throw error;
    throw new ProviderFailure(reasonOf(error));
  } finally {
    if (typeof body === 'object') body.stream.destroy();
  }
}

/** The network's code, or the error's name. Its message may hold an address, so nobody gets it. */
const reasonOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
};

/** All bytes; what is over the bound is a failure, or is left out where the rest is enough. */
async function readWhole(body: Readable, most: number, isWhole: boolean): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > most && isWhole) throw new ProviderFailure(`its answer is over ${most / 1024 / 1024} MiB`);
    if (length > most) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** 429 and 5xx may be over soon; other refusals are the window's fault, or somebody has to mend them. */
function refusalOf(asking: Asking, status: number, headers: IncomingHttpHeaders, text: string): ProviderFailure {
  const words = wordsOf(text, asking.key);
  const message = `it answered ${status}${words === '' ? '' : `: ${words}`}`;
  if (status === 429) {
    const waited = retryAfterOf(headers['retry-after'], asking.kernel.clock) ?? busyMs;
    const coolMs = Math.min(Math.max(waited, leastBusyMs), longestBusyMs);
    return new ProviderFailure(message, { coolMs, rateLimited: true });
  }
  if (status >= 500 || status === 408 || status === 409) return new ProviderFailure(message);
  if (status === 401) asking.entry.key.forget();
  const isOfWindow = status === 400 || status === 413 || status === 415 || status === 422;
  return new ProviderFailure(message, { coolMs: isOfWindow ? 0 : longMs, final: true });
}

/** RFC 9110: seconds, or the date when it may be asked again. In ms. */
function retryAfterOf(value: string | undefined, clock: Pick<Clock, 'now'>): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\s*[\d.]+\s*$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - clock.now();
  return Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : undefined;
}

/** The provider's own words for a refusal, in one line. It may repeat the key that it got: that is taken out. */
function wordsOf(text: string, key: string | undefined): string {
  const safe = masked(refusalIn(text)?.message ?? '', [key]);
  return safe
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, mostWords)
    .toWellFormed();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return parsedWithout(text);
  }
}

/** A text, which is left as it is, or a number that JSON has no word for. */
const noNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:nan(?:\(\w*\)|\b)|inf(?:inity)?\b)/gis;

/** Servers in Python write `NaN` for a number that they do not know, mostly of how sure they are. */
function parsedWithout(text: string): unknown {
  try {
    return JSON.parse(text.replaceAll(noNumber, (found) => (found.startsWith('"') ? found : 'null'))) as unknown;
  } catch {
    return undefined;
  }
}

/** The audio of a window as a body. */
export const audioOf = ({ file, bytes }: SpeechWindow): Sent => ({ stream: createReadStream(file), length: bytes });

/** A form with fields and the audio of a window, which is read while it is sent. */
export function formOf(
  window: SpeechWindow,
  fields: readonly (readonly [string, string])[],
): { headers: Record<string, string>; body: Sent } {
  const boundary = randomUUID();
  const name = window.contentType === 'audio/flac' ? 'window.flac' : 'window.ogg';
  const parts = fields.map(
    ([field, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
  );
  const file = `content-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: ${window.contentType}`;
  const head = Buffer.from(`${parts.join('')}--${boundary}\r\n${file}\r\n\r\n`);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* pieces(): AsyncGenerator<Buffer> {
    yield head;
    yield* createReadStream(window.file) as AsyncIterable<Buffer>;
    yield tail;
  }
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: { stream: Readable.from(pieces(), { objectMode: false }), length: head.length + window.bytes + tail.length },
  };
}

/** A time in milliseconds, also one that is written as a text; NaN for what is no number, which `assemble` repairs. */
export function timeOf(value: unknown): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : Number.NaN;
}

/** A time in seconds as milliseconds. */
export const msOf = (seconds: unknown): number => timeOf(seconds) * 1_000;
