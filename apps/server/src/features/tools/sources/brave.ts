import { z } from 'zod';
import type { Kernel } from '../../../kernel/kernel.ts';
import {
  askJson,
  type PageCandidate,
  isoDate,
  itemsOf,
  plainText,
  type SearchQuestion,
  type Source,
  type SourceSettings,
  withDomains,
} from './source.ts';

/** The part of Brave's answer that we read; without a hit `web` is missing. */
const answer = z.looseObject({ web: z.looseObject({ results: z.array(z.unknown()) }).nullish() });
const item = z.looseObject({
  url: z.string(),
  title: z.string().nullish(),
  description: z.string().nullish(),
  page_age: z.string().nullish(),
});

const own = 'https://api.search.brave.com/res/v1';
const freshness: Record<NonNullable<SearchQuestion['freshness']>, string> = {
  day: 'pd',
  week: 'pw',
  month: 'pm',
  year: 'py',
};
/** Its bounds for a query: 400 characters, 50 words. */
const longest = { chars: 400, words: 50 };

/** Brave's web search, with a key of the operator's. */
export function brave(kernel: Pick<Kernel, 'upstream'>, { id, baseUrl = own, apiKey }: SourceSettings): Source {
  if (apiKey === undefined) throw new Error('api_key_env: is required for brave');
  return {
    id,
    isRemote: true,
    async find(question, signal): Promise<PageCandidate[]> {
      const url = new URL(`${baseUrl}/web/search`);
      const query = withDomains(question).slice(0, longest.chars).split(/\s+/).slice(0, longest.words).join(' ');
      url.searchParams.set('q', query.toWellFormed());
      url.searchParams.set('count', String(Math.min(question.limit, 20)));
      url.searchParams.set('search_lang', question.lang);
      url.searchParams.set('text_decorations', 'false');
      if (question.freshness) url.searchParams.set('freshness', freshness[question.freshness]);
      const headers = { 'x-subscription-token': apiKey };
      const { web } = await askJson(kernel, url, { schema: answer, signal, headers });
      return itemsOf(item, (web?.results ?? []).slice(0, question.limit)).map(
        ({ url: found, title, description, page_age: age }) => ({
          url: found,
          title: plainText(title ?? ''),
          snippet: plainText(description ?? ''),
          age: isoDate(age),
        }),
      );
    },
  };
}
