import type { JobDefinition } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { bySystem, writeAct } from '../../kernel/records/audit.ts';
import { deleteAudio } from './library/audio.ts';
import { sweepShares } from './shares/shares.sql.ts';
import { sweepCharges } from './library/allowance.sql.ts';
import { deleteTracks, findTranscript, purgeable, sweepFrames } from './transcripts.sql.ts';
import { Transcripts } from './transcripts.store.ts';

const atOnce = 200;

/** Every hour: deletes the audio of recordings that are 30 days old, and what is left of the deleted. */
export const purgeAudio: JobDefinition = {
  name: 'transcripts.purge',
  cron: '37 * * * *',
  async run(kernel) {
    const { background: sql, clock } = kernel;
    for (let rows = await purgeable(sql, clock, atOnce); rows.length > 0; ) {
      for (const row of rows) await purge(kernel, row);
      rows = rows.length < atOnce ? [] : await purgeable(sql, clock, atOnce);
    }
    await sweepShares(sql, clock);
    await sweepCharges(sql);
    await sweepFrames(sql);
    await deleteOrphans(kernel);
  },
};

async function purge(kernel: Kernel, { id, account_id: accountId }: { id: string; account_id: string }): Promise<void> {
  const transcripts = new Transcripts(kernel);
  await deleteAudio(kernel, accountId, id);
  await inTransaction(kernel.background, async (tx) => {
    const row = await transcripts.lock(tx, accountId, id);
    const now = await readNow(tx, kernel.clock);
    await deleteTracks(tx, id);
    await transcripts.change(tx, row, { audio_purged_at: now.iso });
    await writeAct(tx, { accountId, by: bySystem, action: 'transcripts.purge', subject: id });
  });
}

/** Audio whose transcript is gone: a kill between the deletion of the rows and of the bytes left it. */
async function deleteOrphans(kernel: Kernel): Promise<void> {
  const seen = new Map<string, boolean>();
  for (const name of await kernel.blobs.list('audio/')) {
    const [, accountId = '', id = ''] = name.split('/');
    const key = `${accountId} ${id}`;
    const isThere = seen.get(key) ?? (await findTranscript(kernel.background, accountId, id)) !== undefined;
    seen.set(key, isThere);
    if (!isThere) await kernel.blobs.delete(name);
  }
}
