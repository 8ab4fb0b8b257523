import type { JobDefinition } from '../../kernel/feature.ts';
import { abandonedParts, deleteGone, dropPart, expiredUploads } from './uploads.sql.ts';
import { Uploads } from './uploads.store.ts';

const atOnce = 500;

/** Every hour: deletes the bytes of uploads that expired, and of pieces whose requests died. */
export const sweepUploads: JobDefinition = {
  name: 'uploads.sweep',
  cron: '23 * * * *',
  async run(kernel) {
    const { background: sql, clock, blobs } = kernel;
    const uploads = new Uploads(kernel);
    for (let rows = await expiredUploads(sql, clock, atOnce); rows.length > 0; ) {
      for (const row of rows) await uploads.dropBytes(row.account_id, row.id);
      rows = rows.length < atOnce ? [] : await expiredUploads(sql, clock, atOnce);
    }
    await deleteGone(sql, clock);
    for (const { account_id: accountId, upload_id: id, start, token } of await abandonedParts(sql, clock, atOnce)) {
      await blobs.delete(`uploads/${accountId}/${id}/${start}-${token}`);
      await dropPart(sql, { id, start, token, no: 0 });
    }
  },
};
