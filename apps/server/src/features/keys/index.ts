import type { Db } from '../../kernel/db/db.ts';
import type { Manifest } from '../../kernel/feature.ts';
import { keysCommands } from './keys.commands.ts';
import { findGrant, keysQuota } from './keys.sql.ts';
import { deleteReservations } from './spend/spend.sql.ts';

export type { ConnectionOfKey } from './connect.ts';
export { moveKey, revokeWithin } from './keys.change.ts';
export {
  changeConnection,
  closeConnection,
  keyOfPerson,
  openConnection,
  revokeKeysOfGrant,
} from './keys.connections.ts';
export { issueKey } from './keys.issue.ts';
export type { KeyLookup } from './keys.lookup.ts';
export { createOwner, type Owned } from './keys.owner.ts';
export { reached, scopesWithin } from './keys.rules.ts';
export { findTerms, isLastOwner, type KeyName, keysQuota, listRevoked, namesOfKeys, revokeListed } from './keys.sql.ts';
export { keysOfConnections, scopesOfConnection } from './keys.standing.sql.ts';
export { checkTerms } from './keys.terms.ts';
export type { Reservation, Spending } from './spend/spend.ts';

/** Runs the query of the auth path, uncached, with a hash that no key has (kernel: Health). */
export async function probeAuthPath(db: Db): Promise<void> {
  await findGrant(db, Buffer.alloc(32));
}

/** The feature without a running platform. */
export const keysManifest: Manifest = {
  name: 'keys',
  data: {
    tables: ['keys.reservations', 'keys.keys'],
  },
  quotas: [keysQuota],
  async restored({ db }) {
    await deleteReservations(db);
    return {};
  },
  commands: keysCommands,
};
