import { httpSpec } from '@svc/contract';
import { OpError } from '../failure.ts';
import { type Execution, reasonOf, type RunTask } from './context.ts';
import type { RunOutcome } from './journal.ts';
import { createScrubber } from './scrub.ts';
import { createTail } from './tail.ts';

const mostRedirects = 5;
/** Read of an answer; only its end is shown. */
const mostBytes = 1_048_576;

/**
 * Calls a webhook from this machine. Addresses of its own network are allowed: that a person chose this machine as the
 * target is how such an address is reached at all.
 */
export async function runHttp(task: RunTask, { machine, signal, onTail }: Execution): Promise<RunOutcome> {
  const spec = httpSpec.parse(task.spec);
  // A server that echoes the request must not put its secrets where readers of runs can see them.
  const tail = createTail(createScrubber(new Map([['key', machine.key]]), new Map(secretsOf(spec.headers ?? {}))));
  onTail(tail);
  let left = mostBytes;
  try {
    const response = await follow(spec.url, {
      method: spec.method,
      headers: spec.headers ?? {},
      ...(spec.body !== undefined && spec.method !== 'GET' && spec.method !== 'HEAD' && { body: spec.body }),
      redirect: 'manual',
      signal,
    });
    for await (const chunk of response.body ?? []) {
      tail.push(Buffer.from(chunk).subarray(0, left));
      left -= chunk.length;
      if (left < 0) break;
    }
    const { expect_status: expected } = spec;
    const ok = expected === undefined ? response.ok : response.status === expected;
    return { ok, ...(!ok && { error: `answered ${response.status}, expected ${expected ?? '2xx'}` }) };
  } catch (error) {
    if (signal.aborted) throw reasonOf(signal);
    throw new OpError(describe(error), { cause: error });
  } finally {
    tail.end(left < 0);
  }
}

/** Headers without secrets: an answer may hold their values by chance. */
const plainHeaders = /^(?:accept|accept-encoding|accept-language|content-type|user-agent)$/i;

/** Header values by the names they are shown under: whole, and without a scheme such as `Bearer`. */
function secretsOf(headers: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(headers)
    .filter(([name]) => !plainHeaders.test(name))
    .flatMap(([name, value]): [string, string][] => [
      [name, value],
      [`${name}: …`, value.trim().split(' ').at(-1) ?? ''],
    ]);
}

/** `fetch` that stays with https when it is sent elsewhere, and gives the other place no headers of this one. */
async function follow(url: string, init: RequestInit, redirects = 0): Promise<Response> {
  const response = await fetch(url, init);
  const location = response.headers.get('location');
  if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
  await response.body?.cancel();
  if (redirects === mostRedirects) throw new OpError('too many redirects');
  if (!URL.canParse(location, url)) throw new OpError('sent to something that is no URL');
  const next = new URL(location, url);
  if (next.protocol !== 'https:') throw new OpError(`sent to ${next.protocol}//, which is not https`);
  const same = next.origin === new URL(url).origin;
  const keeps = response.status === 307 || response.status === 308 || init.method === 'GET' || init.method === 'HEAD';
  const { body: _, ...bare } = init;
  const again = keeps ? init : { ...bare, method: 'GET' };
  return follow(next.href, { ...again, headers: same ? (init.headers ?? {}) : {} }, redirects + 1);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
