import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Transcripts } from './transcripts.store.ts';
import { utterancesIn, wordsOfMinutes } from './text/text.sql.ts';
import { toUtterance } from './transcripts.view.ts';
import { minutesOf, unpackWords } from './text/words.ts';

const usualMs = 600_000;

export const words = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.words, async ({ db, actor }, { params, query }) => {
    const row = await transcripts.get(db, actor.accountId, params.id);
    const { from_ms: fromMs, to_ms: toMs = fromMs + usualMs } = query;
    const rows = await utterancesIn(db, row.id, fromMs, toMs);
    const packed = await wordsOfMinutes(db, row.id, ...minutesOf(fromMs, toMs));
    const all = await unpackWords(packed);
    return { utterances: rows.map((one) => toUtterance(one, all.get(one.seq))) };
  });
