import { randomBytes } from 'node:crypto';
import { writeAct, type Who } from '../../kernel/records/audit.ts';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import { type Db, onCommit } from '../../kernel/db/db.ts';
import { lockQuota } from '../../kernel/records/quotas.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { revokeWithin } from './keys.change.ts';
import { keysQuota } from './keys.sql.ts';
import {
  endConnectionKey,
  insertConnectionKey,
  keysOfConnections,
  keysOfGrant,
  personOf,
  setConnectionScopes,
} from './keys.standing.sql.ts';

/** A hash that no text has. */
const noHash = (): Buffer => randomBytes(32);

/** The id of the row that stands for the person of an account. */
export const keyOfPerson = (db: Db, accountId: string): Promise<string> => personOf(db, accountId, noHash());

/** Makes the row that stands for an app's connection; answers its id. */
export const openConnection = (
  db: Db,
  connection: { accountId: string; connectionId: string; name: string; scopes: readonly string[] },
): Promise<string> => insertConnectionKey(db, { ...connection, hash: noHash() });

/** Changes what a connection may do, on every gateway once the transaction is committed. */
export async function changeConnection(
  tx: Db,
  { gateways }: Pick<Kernel, 'gateways'>,
  { accountId, keyId, scopes }: { accountId: string; keyId: string; scopes: readonly string[] },
): Promise<void> {
  await setConnectionScopes(tx, keyId, scopes);
  const whose: CredentialChange = { accountId, credentialId: keyId };
  await onCommit(tx, () => gateways.announce(credentialsChanged, whose));
}

/** Revokes the keys that an app was given for tokens of one grant; answers how many these were. */
export async function revokeKeysOfGrant(
  tx: Db,
  kernel: Pick<Kernel, 'gateways'>,
  { accountId, grantId, by }: { accountId: string; grantId: string; by: Who },
): Promise<number> {
  // One that is being made is seen here, or sees that the grant is over.
  await lockQuota(tx, keysQuota, accountId);
  const keys = await keysOfGrant(tx, accountId, grantId);
  for (const id of keys) await revokeWithin(tx, kernel, id, { accountId, by });
  return keys.length;
}

/** Ends a connection with every key that it was given; answers how many these were. */
export async function closeConnection(
  tx: Db,
  kernel: Pick<Kernel, 'gateways'>,
  {
    accountId,
    connectionId,
    keyId,
    by,
    takenBack,
  }: { accountId: string; connectionId: string; keyId: string; by: Who; takenBack: number },
): Promise<number> {
  // Whoever makes a key holds it too: one that is being made is seen here, or sees that this came before.
  await lockQuota(tx, keysQuota, accountId);
  const keys = await keysOfConnections(tx, [connectionId]);
  for (const { id } of keys) await revokeWithin(tx, kernel, id, { accountId, by });
  await endConnectionKey(tx, keyId);
  const whose: CredentialChange = { accountId, credentialId: keyId };
  await onCommit(tx, () => kernel.gateways.announce(credentialsChanged, whose));
  await writeAct(tx, {
    accountId,
    by,
    action: 'connections.disconnect',
    subject: connectionId,
    details: { keys: keys.length, taken_back: takenBack },
  });
  return keys.length;
}
