import { pageAddress } from '@svc/extraction/addresses';
import { Share } from '../../kernel/share/share.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type OutboundAnswer, OutboundError } from '../../kernel/outside/outbound.ts';
import { Pool } from './pages.pool.ts';
import {
  dropPage,
  findPage,
  type IndexHit,
  type IndexQuery,
  keepPage,
  type Owner,
  readBlocks,
  readVisible,
  searchIndex,
  type StoredPage,
  touchPage,
} from './pages.sql.ts';
import type { Found, PageQuestion, ReadBytes, Rendered, WantedPart, PageWork } from './pages.work.ts';

/** A server answered with something else than a page. */
export class PageStatusError extends Error {
  override name = 'PageStatusError';
  readonly status: number;

  constructor(status: number) {
    super(`the server answered ${status}`);
    this.status = status;
  }
}

/** Which page, for whom, and how fresh. */
export interface PageRequest {
  /** Null: for the operator's index. */
  readonly owner: Owner;
  readonly url: string;
  /** A kept copy that is at most so old does. */
  readonly maxAgeMs: number;
  /** Throws when the caller may not have a page of this address; asked for each hop. */
  readonly judge?: (url: URL) => void;
  /** Until the last byte; default 15,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A page, where it came from and how fresh it is. */
export interface Read<T> {
  readonly page: Pick<
    StoredPage,
    'url' | 'title' | 'byline' | 'description' | 'canonical' | 'lang' | 'published_at'
  > & {
    content_type: string;
    needs_script: boolean;
    truncated: boolean;
    last_modified: string;
    /** When it was read; undefined: now, and it is not kept. */
    fetched_at?: string;
  };
  readonly cached: boolean;
  readonly result: T;
}

/** The result that a caller wants of a page besides its facts. */
interface Purpose<T> {
  readonly of: (read: ReadBytes) => T;
  readonly ofStored: (row: StoredPage, owner: string, signal: AbortSignal | undefined) => Promise<T | undefined>;
  readonly asked: Pick<PageWork & { kind: 'read' }, 'wanted' | 'question'>;
}

/** Requests to strangers' servers at once: each may hold 3 MB and its worker's answer. */
const fetches = { total: 64, ofOne: 10, waitingOfOne: 64 };
const accept = 'text/html,application/xhtml+xml,application/pdf,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1';
/** Pages that send their reader on at once, one after the other. */
const mostRefreshes = 3;
/** Owner of the operator's work among accounts that take turns. */
const operator = 'operator';

/** Fetches pages, reads them in workers, keeps them and finds them again (design: tools). */
export class Pages {
  readonly #kernel: Pick<Kernel, 'outbound' | 'clock' | 'log' | 'sql'>;
  readonly pool: Pool;
  readonly #fetches = new Share(fetches);

  constructor(kernel: Pick<Kernel, 'outbound' | 'clock' | 'log' | 'sql'>) {
    this.#kernel = kernel;
    this.pool = new Pool(kernel);
  }

  /** A page's content. Throws `OutboundError`, `PageStatusError`, `UnreadableError`, or what `judge` throws. */
  async render(request: PageRequest, wanted: WantedPart): Promise<Read<Rendered>> {
    return this.#read(request, {
      asked: { wanted },
      of: ({ rendered }) => rendered as Rendered,
      ofStored: async ({ id }, owner, signal) => {
        const blocks = await readBlocks(this.#kernel.sql, id);
        return blocks && this.pool.do(owner, { kind: 'render', blocks: new Uint8Array(blocks), wanted }, signal);
      },
    });
  }

  /** A page's answer to a question. Throws as `render` does. */
  async check(request: PageRequest, question: PageQuestion): Promise<Read<Found>> {
    return this.#read(request, this.#checking(question));
  }

  /** The same for the kept copy, however old; undefined when no copy is kept. Nothing is fetched. */
  async checkStored(request: PageRequest, question: PageQuestion): Promise<Read<Found> | undefined> {
    const kept = await findPage(this.#kernel.sql, this.#kernel.clock, request.owner, request.url);
    return kept && this.#ofStored(request, this.#checking(question), kept);
  }

  /** Fetches a page into the operator's index, or sees that it is as it was. Throws as `render` does. */
  async index(request: Omit<PageRequest, 'owner' | 'maxAgeMs'>): Promise<void> {
    const purpose = { asked: {}, of: () => true, ofStored: async () => true };
    await this.#read({ ...request, owner: null, maxAgeMs: 0 }, purpose);
  }

  /** Pages of the index that may answer a query. */
  find(query: IndexQuery): Promise<IndexHit[]> {
    return searchIndex(this.#kernel.sql, query);
  }

  #checking(question: PageQuestion): Purpose<Found> {
    return {
      asked: { question },
      of: ({ found }) => found as Found,
      ofStored: async ({ id }, owner, signal) => {
        const kept = await readVisible(this.#kernel.sql, id);
        return kept && this.pool.do(owner, { kind: 'check', ...kept, question }, signal);
      },
    };
  }

  async #read<T>(request: PageRequest, purpose: Purpose<T>): Promise<Read<T>> {
    const { owner, url, maxAgeMs, signal } = request;
    const kept = await findPage(this.#kernel.sql, this.#kernel.clock, owner, url);
    const stored = kept && kept.age_ms <= maxAgeMs ? await this.#ofStored(request, purpose, kept) : undefined;
    return stored ?? this.#fetches.run(owner ?? operator, async () => this.#fetch(request, purpose, kept), signal);
  }

  /** From the copy that is kept; undefined when it went in the meantime. */
  async #ofStored<T>(request: PageRequest, purpose: Purpose<T>, kept: StoredPage): Promise<Read<T> | undefined> {
    // Access rules change: a copy of an address that is now forbidden must not be used.
    for (const url of [request.url, kept.url]) request.judge?.(new URL(url));
    const result = await purpose.ofStored(kept, request.owner ?? operator, request.signal);
    return result === undefined ? undefined : { page: kept, cached: true, result };
  }

  /** `sent`: addresses to which pages sent their reader at once; the page is kept under the one that was asked for. */
  async #fetch<T>(
    request: PageRequest,
    purpose: Purpose<T>,
    kept: StoredPage | undefined,
    sent: readonly string[] = [],
  ): Promise<Read<T>> {
    const { owner, url, signal } = request;
    const answer = await this.#ask({ ...request, url: sent.at(-1) ?? url }, kept);
    if (answer.status === 304 && kept) {
      // Said of another page, or by another one: redirects lead elsewhere by now, or led.
      if (pageAddress(answer.url) !== kept.url) return this.#fetch(request, purpose, undefined);
      await touchPage(this.#kernel.sql, this.#kernel.clock, kept.id);
      const result = await purpose.ofStored(kept, owner ?? operator, signal);
      if (result !== undefined) return { page: kept, cached: false, result };
      // The copy went in the meantime: the whole page is needed.
      return this.#fetch(request, purpose, undefined);
    }
    if (answer.status === 404 || answer.status === 410) await dropPage(this.#kernel.sql, owner, url);
    if (answer.status < 200 || answer.status > 299 || answer.status === 204) throw new PageStatusError(answer.status);
    const contentType = header(answer, 'content-type');
    // A copy: the buffer may be a part of one that others use, and this one goes to the worker whole.
    const bytes = new Uint8Array(answer.body);
    const work = { kind: 'read' as const, bytes, url: answer.url, contentType, ...purpose.asked };
    const read = await this.pool.do(owner ?? operator, work, signal);
    const { refresh } = read.facts;
    if (refresh !== '' && sent.length < mostRefreshes && !sent.includes(refresh))
      return this.#fetch(request, purpose, undefined, [...sent, refresh]);
    const page = await this.#keep(request, answer, read);
    return { page, cached: false, result: purpose.of(read) };
  }

  async #ask({ url, judge, signal, timeoutMs }: PageRequest, kept: StoredPage | undefined): Promise<OutboundAnswer> {
    const headers = {
      accept,
      ...(kept?.etag && { 'if-none-match': kept.etag }),
      ...(kept?.last_modified && { 'if-modified-since': kept.last_modified }),
    };
    return this.#kernel.outbound.request(url, {
      headers,
      ...(judge && { judge }),
      ...(signal && { signal }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  }

  /** Keeps a page, unless its server says that nobody may. */
  async #keep({ owner, url }: PageRequest, answer: OutboundAnswer, read: ReadBytes): Promise<Read<unknown>['page']> {
    const { facts } = read;
    const lastModified = header(answer, 'last-modified');
    const address = pageAddress(answer.url);
    if (/\bno-store\b/i.test(header(answer, 'cache-control'))) {
      const { contentType: content_type, publishedAt: published_at, needsScript: needs_script, ...others } = facts;
      return {
        ...others,
        url: address,
        content_type,
        published_at,
        needs_script,
        truncated: answer.truncated,
        last_modified: lastModified,
      };
    }
    const isHidden = facts.noIndex || /\bno(?:index|ne)\b/i.test(header(answer, 'x-robots-tag'));
    return keepPage(this.#kernel.sql, this.#kernel.clock, {
      owner,
      address: url,
      url: address,
      facts,
      blocks: read.blocks,
      visible: read.visible,
      outline: read.outline,
      indexed: isHidden ? undefined : read.indexed,
      truncated: answer.truncated,
      etag: header(answer, 'etag'),
      lastModified,
    });
  }
}

/** A header's text, cut where no honest one ends. */
const header = ({ headers }: OutboundAnswer, name: string): string => String(headers[name] ?? '').slice(0, 500);

/** Whether a page's server, or the way to it, is at fault, and not the caller. */
export const isFaultOfServer = (error: unknown): boolean =>
  error instanceof PageStatusError || (error instanceof OutboundError && error.kind !== 'refused');
