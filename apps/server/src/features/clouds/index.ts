import type { Manifest } from '../../kernel/feature.ts';
import { countOfAccount } from './clouds.sql.ts';

export { checkClouds, checkCloudsFile } from './clouds.check.ts';
export { Clouds } from './clouds.providers.ts';

/** The feature without a running platform. */
export const cloudsManifest: Manifest = {
  name: 'clouds',
  data: {
    // A row names no account: it stays until the provider has taken the machine away, which a running platform asks it for.
    tables: [],
    async end({ sql }, { accountId }) {
      return { deleted: {}, left: { 'clouds.machines': await countOfAccount(sql, accountId) } };
    },
  },
};
