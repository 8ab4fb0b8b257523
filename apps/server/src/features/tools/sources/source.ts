import type { z } from 'zod';
import type { freshnesses } from '@svc/contract';
import type { Kernel } from '../../../kernel/kernel.ts';

/** A query to a source. */
export interface SearchQuestion {
  readonly accountId: string;
  readonly query: string;
  /** Primary language, such as `en`. */
  readonly lang: string;
  readonly domains: readonly string[];
  readonly excludeDomains: readonly string[];
  readonly freshness: (typeof freshnesses)[number] | undefined;
  /** Candidates that are of use. */
  readonly limit: number;
}

/** A page that a source names. None of it is believed: the page itself is read. */
export interface PageCandidate {
  readonly url: string;
  readonly title: string;
  /** Empty: the source says nothing of its text. */
  readonly snippet: string;
  /** ISO date or instant; empty when unknown. */
  readonly age: string;
}

/** Something that names pages for a query. A further one is a file like `searxng.ts` and a line in `sources.ts`. */
export interface Source {
  /** In `sources_tried`, `degraded` and results. */
  readonly id: string;
  /** Asks somebody else over the network. */
  readonly isRemote: boolean;
  /** Best first; throws what went wrong. */
  find(question: SearchQuestion, signal: AbortSignal): Promise<PageCandidate[]>;
}

/** The settings of a remote source in the providers file. */
export interface SourceSettings {
  readonly id: string;
  /** Without a slash at its end; undefined: the kind's own. */
  readonly baseUrl: string | undefined;
  readonly apiKey: string | undefined;
}

const mostBytes = 2 * 1024 * 1024;
const connectMs = 1_500;

/** Asks a source for JSON of a shape; throws when it answers something else, or more than 2 MiB. */
export async function askJson<S extends z.ZodType>(
  { upstream }: Pick<Kernel, 'upstream'>,
  url: URL,
  { schema, signal, headers = {} }: { schema: S; signal: AbortSignal; headers?: Record<string, string> },
): Promise<z.output<S>> {
  const asked = { accept: 'application/json', 'user-agent': 'svc', ...headers };
  const { status, body } = await upstream.ask(url.href, { method: 'GET', headers: asked, signal, connectMs });
  try {
    if (status !== 200) throw new Error(`the source answered ${status}`);
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > mostBytes) throw new Error('the source answered more than 2 MiB');
      chunks.push(chunk);
    }
    return schema.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } finally {
    body.destroy();
  }
}

/** The items that have a shape; what else stands among them is left out. Throws when none has it. */
export function itemsOf<S extends z.ZodType>(schema: S, items: readonly unknown[]): z.output<S>[] {
  const good = items.flatMap((item) => {
    const parsed = schema.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });
  if (good.length === 0 && items.length > 0) throw new Error('the source answered items of another shape');
  return good;
}

/** `site:` for engines that know it, so that what they find is of these domains. */
export function withDomains({ query, domains, excludeDomains }: SearchQuestion): string {
  const some = domains.map((domain) => `site:${domain}`).join(' OR ');
  const none = excludeDomains.map((domain) => ` -site:${domain}`).join('');
  return `${query}${domains.length > 1 ? ` (${some})` : some && ` ${some}`}${none}`;
}

const longestText = 2_000;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** The text of a snippet that a source marks up, such as `<b>` around words of the query. */
export const plainText = (html: string): string =>
  html
    // Bounded before any pattern looks at it: a source may send megabytes of `<`.
    .slice(0, longestText)
    .replace(/<[^>]{0,300}>/g, '')
    .replace(/&#(x?)([\da-f]{1,6});/gi, (_, hex: string, code: string) =>
      characterOf(Number.parseInt(code, hex ? 16 : 10)),
    )
    .replace(/&(amp|lt|gt|quot|apos|nbsp);/g, (_, name: string) => entities[name] ?? '');

const characterOf = (code: number): string => (code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '');

/** A source's date as ISO; empty when it is invalid. */
export function isoDate(text: string | null | undefined): string {
  if (!text) return '';
  const day = /^\d{4}-\d\d-\d\d$/.exec(text)?.[0];
  const at = new Date(text);
  const year = at.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) return '';
  return day ?? at.toISOString();
}
