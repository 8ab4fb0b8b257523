import type { Manifest } from '../../kernel/feature.ts';
import { hasPieces, uploadBytesQuota, uploadsQuota } from './uploads.sql.ts';

export { checkTranscripts } from './uploads.gate.ts';
export { Uploads } from './uploads.store.ts';

/** The feature without a running platform. */
export const uploadsManifest: Manifest = {
  name: 'uploads',
  hasBlobs: hasPieces,
  data: {
    tables: ['uploads.uploads'],
    async end({ blobs }, { accountId }) {
      const names = await blobs.list(`uploads/${accountId}/`);
      for (const name of names) await blobs.delete(name);
      return { deleted: { 'upload pieces': names.length } };
    },
  },
  quotas: [uploadsQuota, uploadBytesQuota],
};
