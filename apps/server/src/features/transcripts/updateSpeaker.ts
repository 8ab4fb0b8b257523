import { contract } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { SpeakerRow } from './transcripts.rows.ts';
import { toSpeaker } from './transcripts.view.ts';
import type { Transcripts } from './transcripts.store.ts';
import { changeSpeaker, mergeSpeaker, recountSpeakers, speakersOf } from './text/text.sql.ts';

const folded = (name: string): string => name.trim().normalize('NFC').toLowerCase();

/** Names a speaker; when another one has the name, both are one. There is one user: marking another moves the mark. */
export const updateSpeaker = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.updateSpeaker, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const row = await transcripts.lock(tx, context.actor.accountId, params.id);
      const before = await speakersOf(tx, [row.id]);
      const speaker = before.find(({ label }) => label === params.label);
      if (!speaker) throw notFound('speaker');
      const name = body.name === undefined ? speaker.name : (body.name?.trim() ?? null);
      const isSelf = body.is_self === undefined ? speaker.is_self : body.is_self === true;
      const same =
        name === null
          ? undefined
          : before.find((one) => one !== speaker && one.name !== null && folded(one.name) === folded(name));
      const changed = {
        label: same?.label ?? speaker.label,
        name: same?.name ?? name,
        is_self: isSelf || same?.is_self === true,
      };
      if (same) await mergeSpeaker(tx, row.id, speaker.label, same.label);
      await unmarkOthers(tx, row.id, before, changed);
      await changeSpeaker(tx, row.id, changed);
      if (same) await recountSpeakers(tx, row.id);
      await transcripts.change(tx, row, {});
      const speakers = (await speakersOf(tx, [row.id])).map(toSpeaker);
      const found = speakers.find(({ label }) => label === changed.label);
      if (!found) throw notFound('speaker');
      return { speaker: found, speakers };
    }),
  );

async function unmarkOthers(
  tx: Db,
  id: string,
  all: readonly SpeakerRow[],
  marked: Pick<SpeakerRow, 'label' | 'is_self'>,
) {
  if (!marked.is_self) return;
  for (const one of all)
    if (one.is_self && one.label !== marked.label) await changeSpeaker(tx, id, { ...one, is_self: false });
}
