import { bm25, type Relevance } from '@svc/verification';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Found, Pages, Read, TextProof } from '../pages/index.ts';
import { type Fused, reranked } from './tools.fusion.ts';

/** A page that says what its snippet says. */
export interface Verified {
  readonly url: string;
  readonly title: string;
  readonly snippet: string;
  readonly proof: TextProof & { readonly at: string };
  readonly age: string;
  readonly source: string;
  readonly relevance: Relevance;
}

/** The candidates to verify, for whom, and within which limits. */
interface ToVerify {
  readonly accountId: string;
  readonly candidates: readonly Fused[];
  /** Roots of the query's words. */
  readonly words: readonly string[];
  /** No further page is begun once so many are verified. */
  readonly enough: number;
  /** A kept copy that is at most so old does. */
  readonly maxAgeMs: number;
  readonly judge: (url: URL) => void;
  /** Whether a verified page is of use; those of redirects to elsewhere are not. */
  readonly isWanted: (page: Verified) => boolean;
  /** Of `clock.monotonic()`: nothing is waited for past it. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** The result of a verification. */
export interface Verification {
  /** In the order of the candidates. */
  readonly pages: readonly Verified[];
  readonly tried: number;
  /** Time was up before all were read. */
  readonly isLate: boolean;
  /** A kept copy stood in for a page that could not be fetched. */
  readonly isStale: boolean;
}

/** Pages of one search at once. */
const lanes = 8;
/** For pages that may rank higher than those that are verified, once these are enough. */
const furtherMs = 200;
/** Kept copies are looked at in this time, before the deadline. */
const reserveMs = 400;

/** Reads candidates, best first and some at once, and keeps those that say something of the question. */
export async function verify(
  kernel: Pick<Kernel, 'clock' | 'log'>,
  pages: Pages,
  given: ToVerify,
): Promise<Verification> {
  const { clock } = kernel;
  const late = new AbortController();
  const cancel = clock.after(given.deadline - reserveMs - clock.monotonic(), () => late.abort(new Late()));
  const signal = AbortSignal.any([late.signal, given.signal]);
  // Nobody waits for what is still under way: no further page, and no look at a kept copy.
  const over = new AbortController();
  const end = (): void => over.abort(new Late());
  given.signal.addEventListener('abort', end, { once: true });
  const found = new Map<Fused, Verified>();
  const state = { tried: 0, isLate: false, isStale: false };

  async function take(candidate: Fused): Promise<void> {
    const read = await readCandidate(kernel, pages, { ...given, signal, lasting: over.signal }, candidate);
    if (read === 'late') state.isLate = true;
    else if (read) {
      state.isStale ||= read.isStale;
      const page = verifiedOf(kernel, candidate, read.read);
      if (page && given.isWanted(page)) found.set(candidate, page);
      settle();
    }
  }

  async function lane(waiting: Iterator<Fused>): Promise<void> {
    while (found.size < given.enough && !over.signal.aborted) {
      const { value, done } = waiting.next();
      if (done) return;
      state.tried += 1;
      // At the deadline `take` stops writing results, even if its worker goes on.
      await take(value);
    }
  }

  // Those that are under way may be better; after a while they are not waited for, which is no lack.
  const enough = Promise.withResolvers<void>();
  let cancelEnough = (): void => {};
  const settle = (): void => {
    if (found.size < given.enough) return;
    cancelEnough();
    const isBest = given.candidates.slice(0, given.enough).every((candidate) => found.has(candidate));
    if (isBest) enough.resolve();
    else cancelEnough = clock.after(furtherMs, () => enough.resolve());
  };
  const waiting = given.candidates.values();
  const all = Promise.race([Promise.all(Array.from({ length: lanes }, async () => lane(waiting))), enough.promise]);
  try {
    state.isLate = (await before(clock, given.deadline, all)) || state.isLate;
  } finally {
    cancel();
    cancelEnough();
    late.abort(new Late());
    end();
    given.signal.removeEventListener('abort', end);
    all.catch(() => {});
  }
  given.signal.throwIfAborted();
  return { ...state, pages: given.candidates.flatMap((candidate) => found.get(candidate) ?? []) };
}

class Late extends Error {
  override name = 'Late';
}

/** Whether time was up first. */
async function before(clock: Kernel['clock'], deadline: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancel = clock.after(Math.max(0, deadline - clock.monotonic()), () => late.resolve(true));
  try {
    return await Promise.race([work.then(() => false), late.promise]);
  } finally {
    cancel();
  }
}

/** The page as it is now, else the copy that is kept; undefined: neither. */
async function readCandidate(
  { clock, log }: Pick<Kernel, 'clock' | 'log'>,
  pages: Pages,
  given: ToVerify & { lasting: AbortSignal },
  { url, snippets }: Fused,
): Promise<{ read: Read<Found>; isStale: boolean } | 'late' | undefined> {
  const { accountId: owner, judge, maxAgeMs, words, deadline, signal } = given;
  const request = {
    owner,
    url,
    judge,
    maxAgeMs,
    signal,
    timeoutMs: Math.max(1, deadline - reserveMs - clock.monotonic()),
  };
  const question = { words, snippets };
  try {
    return { read: await pages.check(request, question), isStale: false };
  } catch (error) {
    log.debug({ err: error }, 'a page of a search could not be read');
    if (!mayStandIn(error, signal)) return undefined;
    const kept = await pages.checkStored({ ...request, signal: given.lasting }, question).catch(() => undefined);
    if (kept) return { read: kept, isStale: true };
    return signal.aborted ? 'late' : undefined;
  }
}

/** Whether the kept copy may speak for a page: its server is away, or slow. A page that is gone or refused stays out. */
function mayStandIn(error: unknown, signal: AbortSignal): boolean {
  if (signal.aborted) return true;
  const { kind, status } = error as { kind?: unknown; status?: unknown };
  return kind === 'failed' || kind === 'timeout' || (typeof status === 'number' && status >= 500);
}

function verifiedOf(
  { clock }: Pick<Kernel, 'clock'>,
  { sources, age }: Fused,
  { page, result }: Read<Found>,
): Verified | undefined {
  if (result.snippet === undefined || result.proof === undefined) return undefined;
  return {
    url: page.url,
    // A source's title is as little to be believed as its snippet.
    title: page.title || page.url,
    snippet: result.snippet,
    proof: { ...result.proof, at: page.fetched_at ?? new Date(clock.now()).toISOString() },
    age: page.published_at || dateOf(page.last_modified) || age,
    source: sources[0] ?? 'index',
    relevance: result.relevance,
  };
}

/** A header's date as ISO; empty when it is invalid. */
function dateOf(header: string): string {
  const at = new Date(header);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

/** The order of the sources and that of the pages' own words, as one; of pages that are the same the first. */
export function ranked(pages: readonly Verified[]): Verified[] {
  const own = [...new Map(pages.toReversed().map((page) => [page.url, page])).values()].toReversed();
  const scores = new Map(bm25(own.map(({ relevance }) => relevance)).map((score, at) => [own[at], score]));
  return reranked(
    own,
    own.toSorted((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0)),
  );
}
