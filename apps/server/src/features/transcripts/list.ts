import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { listTranscripts } from './transcripts.sql.ts';
import type { Transcripts } from './transcripts.store.ts';

export const list = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.list, async ({ db, actor }, { query }) => {
    const { limit, cursor, ...filter } = query;
    const found = await listTranscripts(db, actor.accountId, filter, { limit, cursor });
    const { rows, next } = pageOf(found, limit);
    return { transcripts: await transcripts.summaries(db, rows), ...next };
  });
