import { keysManifest } from './index.ts';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Feature } from '../../kernel/feature.ts';
import { connect, type ConnectionOfKey } from './connect.ts';
import { create } from './create.ts';
import { get } from './get.ts';
import { createKeyLookup, type KeyLookup } from './keys.lookup.ts';
import { findLapsed } from './keys.sql.ts';
import { Spending } from './spend/spend.ts';
import { list } from './list.ts';
import { revoke } from './revoke.ts';
import { update } from './update.ts';

/** API keys: issue, look up, pause, revoke. */
export function keysFeature(
  kernel: Kernel,
  connectionOf: (keyId: string) => Promise<ConnectionOfKey | undefined>,
): Feature & { lookup: KeyLookup; spending: Spending } {
  const lookup = createKeyLookup(kernel);
  const spending = new Spending(kernel);
  return {
    ...keysManifest,
    operations: { list, create, connect: connect(connectionOf), get, update, revoke },
    lookup,
    spending,
    async start() {
      spending.start();
      const { gateways, streams, sql, log } = kernel;
      gateways.onMissed(() => {
        lookup.evict(null);
        findLapsed(
          sql,
          streams.credentials().map(({ credentialId }) => credentialId),
        )
          .then((lapsed) => {
            for (const { id, account_id: accountId } of lapsed) streams.endOf({ accountId, credentialId: id });
          })
          .catch((err: unknown) => log.error({ err }, 'keys of open streams were not checked'));
      });
      await gateways.onAnnounce(credentialsChanged, (payload) => {
        const whose = payload as CredentialChange;
        lookup.evict(whose);
        if (whose) streams.endOf(whose);
      });
      return { stop: () => spending.stop() };
    },
  };
}
