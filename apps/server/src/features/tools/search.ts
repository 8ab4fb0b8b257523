import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import type { Search } from './tools.search.ts';
import { useTool } from './tools.use.ts';

/** Searches the web and the index; every snippet stands on its page. */
export const search = (searches: Search) =>
  operation(contract.tools.search, async (context, { body }) =>
    useTool(context, 'search', async () => {
      const { actor, signal } = context;
      return searches.answer(body, { accountId: actor.accountId, signal });
    }),
  );
