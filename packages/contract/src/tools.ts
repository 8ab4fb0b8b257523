import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, text } from './fields.ts';
import { json, route } from './route.ts';

/** Codes of the tools' own (document 1, Errors). */
export const toolErrors = {
  search_unavailable: { status: 503, type: 'api_error' },
} as const satisfies Record<string, ErrorKind>;

/** Topics of a search, found by rules (design: tools, Search). */
export const searchIntents = ['currency', 'weather', 'news', 'docs', 'code', 'general'] as const;

/** How old a page may be. */
export const freshnesses = ['day', 'week', 'month', 'year'] as const;

/** How a page's content is written. */
export const pageFormats = ['text', 'markdown', 'html'] as const;

const notBlank = (value: string): boolean => value.trim() !== '';
const domain = text(253)
  .regex(
    /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{1,63}$/u,
    'must be a domain such as example.com',
  )
  .toLowerCase();
const domains = z.array(domain).max(20).default([]);

/** A page that was found, with words of its own (document 1, Search result). */
export const searchResult = z
  .object({
    title: z.string(),
    url: z.url().describe('After redirects, without tracking'),
    snippet: z
      .string()
      .describe(
        'Whole sentences of the page, word for word, below what says what they are: a heading, the head of a table',
      ),
    page_age: z.string().describe('ISO date or instant; empty when unknown'),
    source: z.string().describe('What found it: `index`, or the id of a source'),
    verified: z.boolean().describe('Always true: what could not be verified is left out'),
    proof: z
      .object({
        sha256: z.string().describe('Of the visible text of the page, as UTF-8'),
        start: z.int().describe('Where its sentences stand in that text, in UTF-16 units'),
        end: z.int(),
        at: dateTime.describe('When the page was read'),
      })
      .describe('`svc index prove` checks it against the page that is kept'),
  })
  .meta({ id: 'SearchResult' });

/** Result of a search, and how it was found (document 1, Search result). */
export const searchAnswer = z
  .object({
    results: z.array(searchResult),
    provider: z.string().describe('Source of most results; `none` without any'),
    took_ms: z.int().nonnegative(),
    cached: z.boolean(),
    coverage: z.number().min(0).max(1).describe('Pages that were verified, of those that were tried'),
    sources_tried: z.array(z.string()),
    degraded: z
      .array(z.string())
      .describe(
        'What went wrong, sorted: `source_timeout:<id>`, `source_error:<id>`, `verify_timeout`, `verify_stale`, `rerank_skipped`',
      ),
    intent: z.enum(searchIntents),
    rerank: z.object({ model: z.string(), ms: z.int().nonnegative(), n: z.int().nonnegative() }),
  })
  .meta({ id: 'SearchAnswer' });

/** A page that was fetched (document 1, Fetch result). */
export const fetchedPage = z
  .object({
    url: z.string().describe('As it was asked for'),
    final_url: z.url().describe('After redirects'),
    title: z.string(),
    byline: z.string(),
    description: z.string(),
    canonical: z.string().describe('Address that the page gives itself; empty when it gives none'),
    lang: z.string().describe('As the page says it; empty when it does not'),
    content_type: z.string().describe('Media type of its bytes'),
    content: z.string(),
    empty_reason: z
      .enum(['needs_javascript'])
      .optional()
      .describe('Why there is nearly nothing: the page is drawn by its script, and holds its text nowhere else'),
    chars: z.int().nonnegative().describe('UTF-16 units of `content`'),
    truncated: z.boolean().describe('There is more: past 3 MB, past `max_chars`, or past 1,000,000 characters'),
    took_ms: z.int().nonnegative(),
    cached: z.boolean().describe('Fetched before, at most 15 minutes ago'),
  })
  .meta({ id: 'FetchedPage' });

/** Search and fetch for agents (document 1, Tools; design: tools). */
export const tools = {
  search: route({
    method: 'POST',
    path: '/v1/tools/search',
    summary: 'Search the web and the index; snippets stand on their pages',
    auth: 'key',
    notIdempotent: 'it makes nothing',
    takes: json(
      z.object({
        query: text(1_000).refine(notBlank, 'must not be blank'),
        limit: z.int().min(1).max(20).default(8).describe('Results, 1 to 20, default 8'),
        domains: domains.describe('Only pages of these domains and those below them'),
        exclude_domains: domains.describe('No pages of these domains and those below them'),
        freshness: z.enum(freshnesses).optional().describe('Only pages that say they are at most so old'),
        lang: text(35)
          .regex(/^[a-z]{2,3}(?:-[a-z0-9]{2,8})*$/i, 'must be a language such as en or ro')
          .optional()
          .describe('Language in which sources are asked; default: that of the query'),
      }),
    ),
    answers: json(searchAnswer),
    errors: ['search_unavailable'],
  }),
  fetch: route({
    method: 'POST',
    path: '/v1/tools/fetch',
    summary: 'Fetch a public page and read its content',
    auth: 'key',
    notIdempotent: 'it makes nothing',
    takes: json(
      z.object({
        url: text(4_096).refine(notBlank, 'must not be blank'),
        max_chars: z.int().min(1).max(1_000_000).default(1_000_000).describe('Longest `content`'),
        format: z.enum(pageFormats).default('markdown'),
      }),
    ),
    answers: json(fetchedPage),
    errors: ['upstream_error'],
  }),
};
