import { type change, contract } from '@svc/contract';
import type { z } from 'zod';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Topics } from './events.topics.ts';

/** Changes of the account, a page at a time. */
export const list = (known: Topics): Operation =>
  operation(contract.events.list, async ({ kernel, actor, signal: gone }, { query }) => {
    const { after, limit, wait_s: waitSeconds } = query;
    // A key that loses its rights while it waits is told nothing more.
    const over = new AbortController();
    const forget = kernel.streams.watch(actor, () => over.abort());
    const signal = AbortSignal.any([gone, over.signal]);
    const topics = new Set<string>(known.allowed(actor, query.topics));
    const { accountId } = actor;
    const asked = { accountId, after, topics, limit, waitMs: waitSeconds * 1_000, signal };
    const page = await kernel.feed.list(asked).finally(forget);
    const events = page.changes.map(({ record, ...change }) => ({
      ...change,
      ...(record !== undefined && { record: JSON.parse(record) as unknown }),
    }));
    return { events: events as z.input<typeof change>[], cursor: page.cursor, missed: page.missed };
  });
