import { httpSpec } from '@svc/contract';
import { textOf } from './answer.ts';
import { type Hop, type KeptBody, redirected, requestHeaders } from './hops.ts';

type HttpSpec = ReturnType<typeof httpSpec.parse>;

/** Kept of an answer, decoded. */
export const mostBytes = 1_048_576;
const mostRedirects = 5;

/** The answer to one request. */
export interface TaskAnswer extends KeptBody {
  status: number;
  /** The header of that name. */
  location: string | string[] | undefined;
}

/** Sends one request by the caller's own way and rules of addresses; follows no redirect. */
export type Send = (hop: Hop) => Promise<TaskAnswer>;

/** How a task went. */
interface TaskOutcome {
  ok: boolean;
  /** Why it is no success. */
  error: string | undefined;
  /** The text of the answer, without the header values that were sent. */
  text: string;
}

/** A request that leads nowhere; the message is for people. */
export class HttpTaskError extends Error {
  override name = 'HttpTaskError';
}

/** The spec that a run was stored with: one of an earlier version may be refused today. */
export function parseSpec(given: unknown): HttpSpec {
  const parsed = httpSpec.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new HttpTaskError(`spec: ${parsed.error.issues[0]?.message ?? 'malformed'}`);
}

/**
 * Does what a spec says: one request, and those that it is redirected to, https only. Where a redirect is what is expected, none
 * is followed.
 */
export async function perform(spec: HttpSpec, send: Send): Promise<TaskOutcome> {
  const { expect_status: expected, headers = {} } = spec;
  const follows = expected === undefined || expected < 300 || expected > 399;
  let hop = requestOf(spec);
  for (let left = mostRedirects; ; left -= 1) {
    const answer = await send(hop);
    const { status, location } = answer;
    const next = follows && status !== expected ? redirected(hop, status, location) : undefined;
    if (!next) {
      const ok = expected === undefined ? status >= 200 && status < 300 : status === expected;
      const error = ok ? undefined : `answered ${status}, expected ${expected ?? '2xx'}`;
      return { ok, error, text: textOf(answer, headers) };
    }
    if (left === 0) throw new HttpTaskError('too many redirects');
    checkPlace(next.url);
    hop = next;
  }
}

/** The request of a spec; its body goes out with every method. */
function requestOf({ url, method, headers = {}, body }: HttpSpec): Hop {
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const type =
    body === undefined || isTyped ? undefined : isJson(body) ? 'application/json' : 'text/plain; charset=utf-8';
  return { url, method, headers: requestHeaders({ ...headers, ...(type && { 'content-type': type }) }), body };
}

/** An object or a list: a number or a word by itself is as likely text. */
function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function checkPlace(url: string): void {
  const { protocol, username, password } = new URL(url);
  if (protocol !== 'https:') throw new HttpTaskError(`sent to ${protocol}//, which is not https`);
  if (username !== '' || password !== '') throw new HttpTaskError('sent to an address with a user or password in it');
}
