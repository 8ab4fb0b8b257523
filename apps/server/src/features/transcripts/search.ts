import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';
import { find } from './analysis/find.ts';
import { nearestOf } from './analysis/nearest.ts';
import { nextPage, pageFrom } from './analysis/ranks.ts';
import { showPassages } from './analysis/search.sql.ts';
import { snippetOf } from './analysis/snippet.ts';

export const search = (inference: Inference): Operation =>
  operation(contract.transcripts.search, async (context, { query }) => {
    const started = context.clock.monotonic();
    const { q, mode, limit, cursor, ...scope } = query;
    const from = pageFrom(cursor);
    const { hits, degraded } = await find(context, inference, { q, mode, scope });
    const page = hits.slice(from, from + limit);
    const places = page.map(({ transcript_id, seq, to_seq }) => ({ transcript_id, from_seq: seq, to_seq }));
    const rows = await showPassages(context.db, context.actor.accountId, places);
    const passages = page.map(({ transcript_id: id, seq, to_seq: toSeq }) =>
      rows.filter((row) => row.transcript_id === id && row.seq >= seq && row.seq <= toSeq),
    );
    const nearest = await nearestOf(context.db, passages, q);
    const results = page.flatMap(({ transcript_id: id, score, matched }, n) => {
      const [own = [], place] = [passages[n], nearest[n]];
      const [first, last] = [own[0], own.at(-1)];
      if (!first || !last || !place) return [];
      const { row, start_ms, end_ms, at } = place;
      return {
        transcript_id: id,
        title: row.title ?? row.insights_title ?? '',
        started_at: row.started_at,
        folder_id: row.folder_id,
        seq: row.seq,
        speaker: { label: row.speaker, name: row.speaker_name },
        start_ms,
        end_ms,
        passage: { seq: first.seq, to_seq: last.seq, start_ms: first.start_ms, end_ms: last.end_ms },
        ...snippetOf(own.map(({ text }) => text).join(' '), q, at),
        score,
        matched,
      };
    });
    return {
      results,
      mode,
      took_ms: Math.round(context.clock.monotonic() - started),
      degraded,
      ...nextPage(from + limit, hits.length),
    };
  });
