import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { listShares as find } from './shares/shares.sql.ts';
import type { Transcripts } from './transcripts.store.ts';

export const listShares = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.listShares, async ({ db, clock, actor }, { params, query }) => {
    const row = await transcripts.get(db, actor.accountId, params.id);
    const { rows, next } = pageOf(await find(db, clock, row.id, query), query.limit);
    return {
      shares: rows.map(({ id, created_at, expires_at, last_viewed_at, views }) => ({
        id,
        url: null,
        createdAt: created_at,
        expiresAt: expires_at,
        lastViewedAt: last_viewed_at,
        views,
      })),
      ...next,
    };
  });
