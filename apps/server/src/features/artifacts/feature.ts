import { artifactsManifest } from './index.ts';
import type { Feature } from '../../kernel/feature.ts';
import { deleteArtifacts, expiredIds } from './artifacts.sql.ts';
import { download } from './download.ts';

const sweptAtOnce = 500;

/** Files that sandboxes hand out. */
export const artifactsFeature: Feature = {
  ...artifactsManifest,
  operations: { download },
  jobs: [
    {
      name: 'artifacts.sweep',
      cron: '*/10 * * * *',
      retries: 0,
      async run({ sql, clock, blobs }) {
        for (;;) {
          const ids = await expiredIds(sql, clock, sweptAtOnce);
          // Bytes first: a row without them is found again, bytes without a row never are.
          for (const id of ids) await blobs.delete(`artifacts/${id}`);
          await deleteArtifacts(sql, ids);
          if (ids.length < sweptAtOnce) return;
        }
      },
    },
  ],
};
