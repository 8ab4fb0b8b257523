import { faultText } from '@svc/netguard/faults';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { OutboundError } from '../../kernel/outside/outbound.ts';
import { UnreadableError } from './pages.pool.ts';
import {
  countQueue,
  countShared,
  enqueue,
  freeHost,
  mostQueued,
  putOff,
  type Queued,
  takeDue,
  unqueue,
} from './pages.queue.sql.ts';
import { type Pages, PageStatusError } from './pages.reader.ts';
import { type RobotsPolicy, robotsPolicyOf, RobotsUnknown } from './pages.robots.ts';
import { readSitemap } from './pages.sitemap.ts';
import { ofOperator } from './pages.sql.ts';

/** Sites that are asked at once, over all gateways some more; of each one page at a time. */
const atOnce = 4;
const everyMs = 1_000;
/** Sitemaps may be long: the protocol's bound is 50 MB, unpacked. */
const sitemapBytes = 10 * 1024 * 1024;
const deepestSitemap = 2;
const mostAttempts = 5;
const firstPauseMs = 60_000;
const robotsPauseMs = 3_600_000;
/** An address that failed for good stays in the queue, so that its reason can be read, until it is forgotten. */
const neverMs = 365 * 24 * 3_600_000;

/** Fetches what the operator feeds into the index: one page of a site at a time, as its robots.txt asks. */
export class Crawler {
  readonly #kernel: Kernel;
  readonly #pages: Pages;
  readonly #stop = new AbortController();
  #loop: Loop | undefined;

  constructor(kernel: Kernel, pages: Pages) {
    this.#kernel = kernel;
    this.#pages = pages;
  }

  start(): void {
    this.#loop = startLoop(this.#kernel, { name: 'pages.crawl', everyMs, work: async () => this.#round() });
  }

  /** Ends what is under way; it is taken again by the next crawler. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop?.stop();
  }

  async #round(): Promise<void> {
    const { sql, clock } = this.#kernel;
    const taken = await takeDue(sql, clock, atOnce);
    await Promise.all(taken.map(async (queued) => this.#take(queued)));
  }

  async #take(queued: Queued): Promise<void> {
    const { sql, clock, log } = this.#kernel;
    let pauseMs = firstPauseMs / 60;
    try {
      const robots = await robotsPolicyOf(this.#kernel, this.#pages.pool, new URL(queued.url));
      ({ pauseMs } = robots);
      await this.#visit(queued, robots);
      await unqueue(sql, queued);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      log.debug({ err: error, url: queued.url }, 'a page was not indexed');
      if (isOfSite(error)) pauseMs = Math.max(pauseMs, pauseOf(error, queued.attempts));
      await putOff(sql, clock, queued, isFinal(error) ? neverMs : pauseOf(error, queued.attempts), reasonOf(error));
    } finally {
      await freeHost(sql, clock, queued.host, pauseMs);
    }
  }

  async #visit(queued: Queued, robots: RobotsPolicy): Promise<void> {
    const judge = (url: URL): void => {
      // Another site has rules of its own, and is not this one's to send a crawler to.
      if (url.host !== queued.host || !robots.mayFetch(url.href)) throw new Disallowed(url);
    };
    const request = { url: queued.url, judge, signal: this.#stop.signal };
    if (queued.kind === 'page') await this.#pages.index(request);
    else await this.#readSitemap(queued, judge);
  }

  async #readSitemap({ url, depth, also_hosts: alsoHosts }: Queued, judge: (url: URL) => void): Promise<void> {
    const { sql, clock, log, outbound } = this.#kernel;
    const answer = await outbound.request(url, { judge, signal: this.#stop.signal, maxBytes: sitemapBytes });
    if (answer.status !== 200) throw new PageStatusError(answer.status);
    const sitemap = readSitemap(answer.body, answer.url, alsoHosts);
    if (!sitemap) throw new UnreadableError('unsupported', 'no sitemap');
    if (sitemap.others.size > 0) {
      if (sitemap.urls.length === 0) throw new SitemapElsewhere(answer.url, sitemap.others);
      log.warn(
        { sitemap: url, others: Object.fromEntries(sitemap.others) },
        'a sitemap lists pages of other hosts; they are left out',
      );
    }
    if (sitemap.kind === 'sitemaps' && depth >= deepestSitemap) return;
    const [{ waiting }, shared] = await Promise.all([countQueue(sql), countShared(sql)]);
    // Nearly every queued address becomes a page, so the queue counts.
    const room = Math.min(mostQueued, ofOperator.pages - shared) - waiting;
    const urls = sitemap.urls.slice(0, Math.max(0, room));
    await enqueue(sql, clock, {
      urls,
      kind: sitemap.kind === 'pages' ? 'page' : 'sitemap',
      depth: depth + 1,
      alsoHosts,
    });
  }
}

/** The site's robots.txt forbids it, or it leads to another site. */
class Disallowed extends Error {
  override name = 'Disallowed';

  constructor(url: URL) {
    super(`robots.txt forbids it, or it leads to another site: ${url.host}`);
  }
}

/** A sitemap that lists nothing of its own site. */
class SitemapElsewhere extends Error {
  override name = 'SitemapElsewhere';

  constructor(from: string, others: ReadonlyMap<string, number>) {
    const [[host, count] = ['', 0]] = [...others].toSorted((a, b) => b[1] - a[1]);
    super(`it lists no page of ${new URL(from).host}, and ${count} of ${host}: add it with --also-host ${host}`);
  }
}

/** Whether all of its site is in trouble: nothing of it is asked for as long. */
const isOfSite = (error: unknown): boolean =>
  error instanceof RobotsUnknown ||
  (error instanceof PageStatusError && (error.status >= 500 || error.status === 429 || error.status === 408));

/** Whether another attempt would end the same. */
function isFinal(error: unknown): boolean {
  if (error instanceof Disallowed || error instanceof SitemapElsewhere) return true;
  if (error instanceof UnreadableError) return true;
  if (error instanceof OutboundError) return error.kind === 'refused';
  return error instanceof PageStatusError && error.status < 500 && error.status !== 429 && error.status !== 408;
}

/** The longer it failed, the longer the pause; after the fifth time a day. */
function pauseOf(error: unknown, attempts: number): number {
  if (error instanceof RobotsUnknown) return robotsPauseMs;
  return attempts >= mostAttempts ? 24 * 3_600_000 : firstPauseMs * 4 ** (attempts - 1);
}

const ownErrors = [Disallowed, SitemapElsewhere, UnreadableError, OutboundError, PageStatusError, RobotsUnknown];

/** Words of ours, and none of the runtime's. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && ownErrors.some((own) => error instanceof own) ? error.message : faultText(error);
