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
} from './source.ts';

/** The search of MediaWiki's action API, as far as we read it. */
const answer = z.looseObject({ query: z.looseObject({ search: z.array(z.unknown()).default([]) }) });
const item = z.looseObject({ title: z.string(), snippet: z.string().nullish(), timestamp: z.string().nullish() });

/** Wikipedia in the language of the query; it needs no key. */
const wikipedia = 'https://{lang}.wikipedia.org';

/** Languages with a Wikipedia of 100,000 articles or more; a caller's word becomes no host name of its own. */
const languages = new Set(
  (
    'ar az be bg bn ca ce cs cy da de el en eo es et eu fa fi fr gl he hi hr hu hy id it ja ka kk ko la lt lv min mk ms my nl nn ' +
    'no pl pt ro ru sh sk sl sq sr sv ta te tg th tr tt uk ur uz vi zh'
  ).split(' '),
);

/** A wiki of MediaWiki's; `{lang}` in its address stands for the language of the query. */
export function mediawiki(kernel: Pick<Kernel, 'upstream'>, { id, baseUrl = wikipedia }: SourceSettings): Source {
  return {
    id,
    isRemote: true,
    async find({ query, lang, limit }, signal): Promise<PageCandidate[]> {
      const base = baseUrl.replace('{lang}', languages.has(lang) ? lang : 'en');
      const url = new URL(`${base}/w/api.php`);
      const asked = {
        action: 'query',
        list: 'search',
        format: 'json',
        formatversion: '2',
        srprop: 'snippet|timestamp',
      };
      for (const [name, value] of Object.entries({ ...asked, srsearch: query.slice(0, 300), srlimit: String(limit) }))
        url.searchParams.set(name, value);
      const { query: found } = await askJson(kernel, url, { schema: answer, signal });
      return itemsOf(item, found.search.slice(0, limit)).map(({ title, snippet, timestamp }) => ({
        url: `${base}/wiki/${encodeURIComponent(title.replaceAll(' ', '_')).replaceAll('%2F', '/').replaceAll('%3A', ':')}`,
        title,
        snippet: plainText(snippet ?? ''),
        age: isoDate(timestamp),
      }));
    },
  };
}
