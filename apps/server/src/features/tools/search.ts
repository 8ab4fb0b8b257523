import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { takeOne } from './tools.limits.ts';
import type { Search } from './tools.search.ts';

/** Searches the web and the index; every snippet stands on its page. */
export const search = (searches: Search) =>
  operation(contract.tools.search, async (context, { body }) => {
    await takeOne(context, 'search');
    const { actor, signal } = context;
    return searches.answer(body, { accountId: actor.accountId, signal });
  });
