import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Transcripts } from './transcripts.store.ts';

export const get = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.get, async (context, { params, query }) => {
    const row = await transcripts.get(context.db, context.actor.accountId, params.id);
    const isFull = query.words === 'full';
    return {
      transcript: isFull ? await transcripts.withWords(context, row) : await transcripts.whole(context.db, row),
    };
  });
