import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Transcripts } from './transcripts.store.ts';
import { pageOfWords } from './text/page.ts';

const usualMs = 600_000;

export const words = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.words, async (context, { params, query }) => {
    const { db, actor } = context;
    const row = await transcripts.get(db, actor.accountId, params.id);
    const { from_ms: fromMs, to_ms: toMs = fromMs + usualMs } = query;
    const from = seqOf(query.cursor);
    await transcripts.inTurn(context, row);
    const { utterances, next } = await pageOfWords(db, row.id, { fromMs, toMs, seq: from });
    return { utterances, ...(next !== undefined && { next_cursor: cursorOf(next) }) };
  });

const cursorOf = (seq: number): string => Buffer.from(`u${seq}`).toString('base64url');

/** The utterance that a page begins with. */
function seqOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const [, seq] = /^u(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (seq !== undefined) return Number(seq);
  throw badRequest('cursor: must be the next_cursor of a page', { cursor: ['must be the next_cursor of a page'] });
}
