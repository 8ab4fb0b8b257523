import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { noteGone } from '../../kernel/records/let-in.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { deleteAudio } from './library/audio.ts';
import { resolveFailed } from './pipeline/tell.ts';
import { removedTopic } from './transcripts.pipeline.ts';
import { releaseMinutes } from './library/allowance.ts';
import { tracksOf } from './transcripts.sql.ts';
import type { Transcripts } from './transcripts.store.ts';
import type { Uploads } from '../uploads/index.ts';

/** Deletes a recording. Its steps end: they find no row to keep their results in. */
export const remove = (transcripts: Transcripts, uploads: Uploads): Operation =>
  operation(contract.transcripts.remove, async (context, { params: { id } }) => {
    const { accountId } = context.actor;
    const tracks = await context.transaction(async (tx) => {
      const row = await transcripts.lock(tx, accountId, id);
      const found = await tracksOf(tx, [id]);
      await uploads.release(tx, id);
      await releaseMinutes(tx, id);
      await transcripts.remove(tx, row);
      await resolveFailed(context.kernel, tx, row, 'removed');
      await noteGone(tx, ['share'], `${id}/`);
      await writeAct(tx, { accountId, by: context.by, action: 'transcripts.remove', subject: id });
      await context.kernel.bus.publish(tx, removedTopic, { id });
      return found;
    });
    // The sweep deletes what a kill leaves here.
    await deleteAudio(context.kernel, accountId, id);
    for (const { upload_id: upload } of tracks) await uploads.dropBytes(accountId, upload);
    return { deleted: true as const, id };
  });
