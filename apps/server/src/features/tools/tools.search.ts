import { createHash } from 'node:crypto';
import type { contract, RouteOutput, RouteParsed } from '@svc/contract';
import { queryWords } from '@svc/verification';
import type { Clock } from '../../kernel/base/clock.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Pages } from '../pages/index.ts';
import type { Judgement, Rules } from '../rules/index.ts';
import { AnswerCache } from './tools.cache.ts';
import { type Fused, fuse, isBelow, type Ranking } from './tools.fusion.ts';
import { heldMs, type Intent, intentOf, languageOf } from './tools.intent.ts';
import type { SearchQuestion, Source } from './sources/source.ts';
import type { Sources } from './sources/sources.ts';
import { ranked, type Verification, type Verified, verify } from './tools.verify.ts';

type Answer = RouteOutput<typeof contract.tools.search>;
type Asked = RouteParsed<typeof contract.tools.search>['body'];

/** The account that searches, and the signal that ends its search. */
interface Searcher {
  readonly accountId: string;
  readonly signal: AbortSignal;
}

/** An answer comes by then (design: tools, Search); sources are waited for half of it, pages the rest. */
const answerMs = 4_000;
const sourcesMs = 1_800;
const rerankMs = 100;
const mostTried = 24;
const cacheBytes = 16 * 1024 * 1024;
const dayMs = 86_400_000;
const oldestMs = { day: dayMs, week: 7 * dayMs, month: 31 * dayMs, year: 366 * dayMs };

/** A question as it is answered: everything after this looks at no other spelling of it. */
interface Question extends SearchQuestion {
  readonly intent: Intent;
  readonly words: ReturnType<typeof queryWords>;
  /** Results that were asked for. */
  readonly enough: number;
}

/** The answers of the sources. */
interface Named {
  readonly rankings: Ranking[];
  readonly degraded: string[];
  readonly isEveryRemoteDown: boolean;
}

/** Searches: sources, fusion, reading of pages, verification, rerank, by a deadline (design: tools, Search). */
export class Search {
  readonly #kernel: Kernel;
  readonly #sources: Sources;
  readonly #pages: Pages;
  readonly #rules: Rules;
  readonly #cache: AnswerCache<Answer>;
  /** Counts what a source was asked, by how that ended. */
  readonly #ended: (of: { source: string; outcome: 'answered' | 'failed' | 'late' }) => void;

  constructor(kernel: Kernel, { sources, pages, rules }: { sources: Sources; pages: Pages; rules: Rules }) {
    this.#kernel = kernel;
    this.#sources = sources;
    this.#pages = pages;
    this.#rules = rules;
    this.#cache = new AnswerCache(kernel.clock, cacheBytes);
    const labels = ['source', 'outcome'];
    this.#ended = kernel.metrics.counter('svc_search_sources_total', 'Sources asked, by how they ended', labels);
  }

  /** Throws `forbidden` when a rule forbids every page, and `search_unavailable` when every remote source is down and the index knows no page. */
  async answer(asked: Asked, searcher: Searcher): Promise<Answer> {
    const began = this.#kernel.clock.monotonic();
    const took = (): number => Math.round(this.#kernel.clock.monotonic() - began);
    const judgement = await this.#rules.for(searcher.accountId);
    if (judgement.refusesAll('search')) throw new ApiError('forbidden', 'a rule forbids every page; ask the operator');
    const question = questionOf(asked, searcher);
    const { intent, enough } = question;
    const key = keyOf(question, judgement);
    const known = this.#cache.get(key);
    if (known) return { ...known, cached: true, took_ms: took() };

    const sources = this.#sources.all;
    const named = await this.#ask(sources, question, searcher.signal);
    const candidates = fuse(named.rankings)
      .filter(({ url }) => isAllowed(new URL(url), question, judgement))
      .slice(0, Math.min(mostTried, enough * 3));
    if (named.isEveryRemoteDown && candidates.length === 0) {
      throw new ApiError('search_unavailable', 'every search source is down; try again in a minute', {
        headers: { 'retry-after': '60' },
      });
    }
    const verification = await this.#verify(candidates, { question, judgement, began }, searcher.signal);
    const { results, rerank, isSkipped } = this.#ranked(verification.pages, began);
    const degraded = [...named.degraded, ...codesOf(verification, isSkipped)].sort();
    const found = results.slice(0, enough).map(({ url, title, snippet, age, source, proof }) => ({
      title,
      url,
      snippet,
      page_age: age,
      source,
      verified: true,
      proof,
    }));
    const answer: Answer = {
      results: found,
      provider: providerOf(found),
      took_ms: took(),
      cached: false,
      coverage: verification.tried === 0 ? 0 : verification.pages.length / verification.tried,
      sources_tried: sources.map(({ id }) => id),
      degraded,
      intent,
      rerank,
    };
    // An answer with failures is not cached: the next try may succeed.
    if (degraded.length === 0) this.#cache.set(key, answer, heldMs[intent]);
    return answer;
  }

  /** Asks every source at once; what has not answered in its time is late. */
  async #ask(sources: readonly Source[], question: Question, caller: AbortSignal): Promise<Named> {
    const { clock, log } = this.#kernel;
    const late = new AbortController();
    const cancel = clock.after(sourcesMs, () => late.abort());
    const signal = AbortSignal.any([late.signal, caller]);
    const degraded: string[] = [];
    let downs = 0;
    // In the order of the sources, not in that of their answers: the same answers are the same order.
    const rankings = await Promise.all(
      sources.map(async (source): Promise<Ranking> => {
        try {
          const candidates = await unless(signal, source.find(question, signal));
          this.#ended({ source: source.id, outcome: 'answered' });
          return { source: source.id, candidates };
        } catch (err) {
          if (source.isRemote) downs += 1;
          this.#ended({ source: source.id, outcome: late.signal.aborted ? 'late' : 'failed' });
          degraded.push(`${late.signal.aborted ? 'source_timeout' : 'source_error'}:${source.id}`);
          log.debug({ err, source: source.id }, 'a search source did not answer');
          return { source: source.id, candidates: [] };
        }
      }),
    );
    cancel();
    caller.throwIfAborted();
    const remotes = sources.filter(({ isRemote }) => isRemote).length;
    return { rankings, degraded, isEveryRemoteDown: remotes > 0 && downs === remotes };
  }

  #verify(
    candidates: readonly Fused[],
    { question, judgement, began }: { question: Question; judgement: Judgement; began: number },
    signal: AbortSignal,
  ): Promise<Verification> {
    const { clock } = this.#kernel;
    const { accountId, words, enough, intent, freshness } = question;
    return verify(this.#kernel, this.#pages, {
      accountId,
      candidates,
      words,
      enough,
      maxAgeMs: heldMs[intent],
      judge: (url) => {
        if (!isAllowed(url, question, judgement)) throw new ApiError('forbidden', 'a rule forbids this page');
      },
      isWanted: ({ url, age }) => isAllowed(new URL(url), question, judgement) && isFresh(age, freshness, clock),
      deadline: began + answerMs - rerankMs,
      signal,
    });
  }

  #ranked(pages: readonly Verified[], began: number) {
    const { clock } = this.#kernel;
    const start = clock.monotonic();
    const isSkipped = start - began > answerMs;
    const results = isSkipped ? pages : ranked(pages);
    const rerank = { model: 'bm25', ms: Math.round(clock.monotonic() - start), n: isSkipped ? 0 : pages.length };
    return { results, rerank, isSkipped };
  }
}

function questionOf(asked: Asked, { accountId }: Searcher): Question {
  const { lang, freshness, limit } = asked;
  const query = asked.query.normalize('NFKC').replace(/\s+/g, ' ').trim();
  return {
    accountId,
    query,
    intent: intentOf(query),
    words: queryWords(query),
    enough: limit,
    lang: (lang ?? languageOf(query)).toLowerCase().split('-')[0] ?? 'en',
    domains: asked.domains.map(spelled),
    excludeDomains: asked.exclude_domains.map(spelled),
    freshness,
    limit: Math.min(mostTried, limit * 2),
  };
}

/** A domain as addresses spell it: punycode. */
const spelled = (domain: string): string => URL.parse(`http://${domain}`)?.hostname ?? domain;

/** One key for questions that have one answer. */
function keyOf(question: Question, { version }: Judgement): string {
  const parts = { ...question, query: question.query.toLowerCase(), words: undefined, version };
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

function isAllowed(url: URL, { domains, excludeDomains }: SearchQuestion, judgement: Judgement): boolean {
  const host = url.hostname.replace(/\.$/, '');
  if (domains.length > 0 && !isBelow(host, domains)) return false;
  return !isBelow(host, excludeDomains) && !judgement.refuses('search', url);
}

/** A page that does not say when it was written is not known to be fresh. */
function isFresh(age: string, freshness: Asked['freshness'], clock: Clock): boolean {
  return freshness === undefined || clock.now() - Date.parse(age) <= oldestMs[freshness];
}

function codesOf({ isLate, isStale }: Verification, isSkipped: boolean): string[] {
  return [
    ...(isLate ? ['verify_timeout'] : []),
    ...(isStale ? ['verify_stale'] : []),
    ...(isSkipped ? ['rerank_skipped'] : []),
  ];
}

/** The source of most results; of equals the one whose result is first. */
function providerOf(results: readonly { source: string }[]): string {
  const counts = Map.groupBy(results, ({ source }) => source);
  return [...counts].sort((a, b) => b[1].length - a[1].length)[0]?.[0] ?? 'none';
}

/** `work`, or the signal's reason: some sources do not listen to it. */
async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const ended = Promise.withResolvers<never>();
  const end = (): void => ended.reject(signal.reason as Error);
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, ended.promise]);
  } finally {
    signal.removeEventListener('abort', end);
    work.catch(() => {});
    ended.promise.catch(() => {});
  }
}
