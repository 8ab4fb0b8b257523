import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { takeFrame } from './transcripts.sql.ts';
import { firstState } from './transcripts.moves.ts';
import type { LiveFrames } from './transcripts.streams.ts';
import type { Transcripts } from './transcripts.store.ts';

/** Shows a caption frame to those who follow, on every gateway; it is kept nowhere. */
export const live = (transcripts: Transcripts, frames: LiveFrames): Operation =>
  operation(contract.transcripts.live, async ({ db, actor }, { params, body }) => {
    const row = await transcripts.get(db, actor.accountId, params.id);
    const accepted = row.state === firstState && (await takeFrame(db, row));
    if (accepted) frames.send(row, body);
    return { accepted };
  });
