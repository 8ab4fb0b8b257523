import { z } from 'zod';
import type { Kernel } from '../../../kernel/kernel.ts';
import {
  askJson,
  type PageCandidate,
  isoDate,
  itemsOf,
  plainText,
  type Source,
  type SourceSettings,
  withDomains,
} from './source.ts';

/** The part of SearXNG's answer with `format=json` that we read. */
const answer = z.looseObject({ results: z.array(z.unknown()) });
const item = z.looseObject({
  url: z.string(),
  title: z.string().nullish(),
  content: z.string().nullish(),
  publishedDate: z.string().nullish(),
});

/** A SearXNG of the operator's; its `search.formats` must include `json`. */
export function searxng(kernel: Pick<Kernel, 'upstream'>, { id, baseUrl }: SourceSettings): Source {
  if (baseUrl === undefined) throw new Error('base_url: is required for searxng');
  return {
    id,
    isRemote: true,
    async find(question, signal): Promise<PageCandidate[]> {
      const url = new URL(`${baseUrl}/search`);
      url.searchParams.set('q', withDomains(question));
      url.searchParams.set('format', 'json');
      url.searchParams.set('language', question.lang);
      // It knows no week: a month holds it, and pages are looked at once more.
      if (question.freshness)
        url.searchParams.set('time_range', question.freshness === 'week' ? 'month' : question.freshness);
      const { results } = await askJson(kernel, url, { schema: answer, signal });
      return itemsOf(item, results.slice(0, question.limit)).map(({ url: found, title, content, publishedDate }) => ({
        url: found,
        title: plainText(title ?? ''),
        snippet: plainText(content ?? ''),
        age: isoDate(publishedDate),
      }));
    },
  };
}
