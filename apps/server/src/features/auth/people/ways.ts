import type { Db } from '../../../kernel/db/db.ts';
import type { Who } from '../../../kernel/records/audit.ts';
import { removePasskey } from './passkeys.ts';
import { listPasskeys } from './passkeys.sql.ts';
import { removePassword } from './passwords.ts';
import type { PeopleParts } from './parts.ts';

/** Takes password and passkeys away, in the transaction in which another way in is set up. Recovery codes stay. */
export async function removeWays(
  parts: Pick<PeopleParts, 'sql'>,
  given: { accountId: string; by: Who; tx: Db },
): Promise<void> {
  for (const { id } of await listPasskeys(given.tx, given.accountId)) await removePasskey(parts, { ...given, id });
  await removePassword(parts, given);
}
