import { contract } from '@svc/contract';
import { namesOf } from '@svc/insights';
import { notFound } from '../../kernel/base/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Transcripts } from './transcripts.store.ts';
import {
  changeUtterance,
  findUtterance,
  recountSpeakers,
  replaceNames,
  speakersOf,
  toHeard,
  utterancesOf,
  wordsOfMinutes,
} from './text/text.sql.ts';
import { toUtterance } from './transcripts.view.ts';
import { minuteOf, unpackWords } from './text/words.ts';

/** Corrects an utterance. What was heard is kept beside it, and its insights are stale. */
export const updateUtterance = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.updateUtterance, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const row = await transcripts.lock(tx, context.actor.accountId, params.id);
      const before = await findUtterance(tx, row.id, params.seq);
      if (!before) throw notFound('utterance');
      const speaker = body.speaker ?? before.speaker;
      if (body.speaker !== undefined && !(await speakersOf(tx, [row.id])).some(({ label }) => label === speaker))
        throw notFound('speaker');
      const heardSpeaker = before.heard_speaker ?? before.speaker;
      const heard = before.original_text ?? before.text;
      const isEdited = typeof body.text === 'string' && body.text !== heard;
      const now = await readNow(tx, context.clock);
      const text =
        body.text === undefined
          ? before
          : {
              text: isEdited ? (body.text as string) : heard,
              original_text: isEdited ? heard : null,
              edited_at: isEdited ? now.iso : null,
            };
      const changed = await changeUtterance(tx, row, {
        seq: before.seq,
        speaker,
        heard_speaker: speaker === heardSpeaker ? null : heardSpeaker,
        text: text.text,
        original_text: text.original_text,
        edited_at: text.edited_at,
      });
      if (speaker !== before.speaker) await recountSpeakers(tx, row.id);
      // A name that was corrected away must not be found any more.
      if (body.text !== undefined) await replaceNames(tx, row, namesOf((await utterancesOf(tx, row.id)).map(toHeard)));
      await transcripts.change(tx, row, row.insights === null ? {} : { insights_stale: true });
      const packed = await wordsOfMinutes(tx, row.id, minuteOf(changed.start_ms), minuteOf(changed.start_ms));
      return { utterance: toUtterance(changed, (await unpackWords(packed)).get(changed.seq)) };
    }),
  );
