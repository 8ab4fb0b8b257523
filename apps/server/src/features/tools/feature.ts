import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Pages } from '../pages/index.ts';
import type { Rules } from '../rules/index.ts';
import { fetch } from './fetch.ts';
import { search } from './search.ts';
import { Search } from './tools.search.ts';
import { Sources } from './sources/sources.ts';

/** Verified search, and safe fetch of pages. */
export function toolsFeature(kernel: Kernel, { pages, rules }: { pages: Pages; rules: Rules }): Feature {
  const sources = new Sources(kernel, pages);
  const searches = new Search(kernel, { sources, pages, rules });
  return {
    name: 'tools',
    operations: { search: search(searches), fetch: fetch({ pages, rules }) },
    async start(_kernel, { serves }) {
      const stop = serves ? sources.start() : () => {};
      return { stop: async () => stop() };
    },
  };
}
