import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Transcripts } from './transcripts.store.ts';

export const get = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.get, async ({ db, actor }, { params, query }) => {
    const row = await transcripts.get(db, actor.accountId, params.id);
    return { transcript: await transcripts.whole(db, row, { words: query.words === 'full' }) };
  });
