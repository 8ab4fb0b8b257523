import type { Pages } from '../../pages/index.ts';
import type { Source } from './source.ts';

/** The platform's own index: pages that the account fetched, and those of the operator. */
export function ownIndex(pages: Pages): Source {
  return {
    id: 'index',
    isRemote: false,
    async find(question) {
      const hits = await pages.find(question);
      // No snippet: the best part of the page is chosen when it is read.
      return hits.map(({ url, title, published_at: age }) => ({ url, title, snippet: '', age }));
    },
  };
}
