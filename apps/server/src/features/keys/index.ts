import type { AccountData } from '../../kernel/deletion.ts';
import type { Db } from '../../kernel/db/db.ts';
import { findGrant } from './keys.sql.ts';

export { keysCommands } from './keys.commands.ts';
export { issueKey } from './keys.issue.ts';
export type { KeyLookup } from './keys.lookup.ts';
export { createOwner } from './keys.owner.ts';
export { findTerms, isLastOwner, type KeyName, keysQuota, namesOfKeys } from './keys.sql.ts';
export type { Reservation, Spending } from './keys.spend.ts';
export { scopesWithin } from './keys.rules.ts';
export { checkTerms } from './keys.terms.ts';

/** Runs the query of the auth path, uncached, with a hash that no key has (kernel: Health). */
export async function probeAuthPath(db: Db): Promise<void> {
  await findGrant(db, Buffer.alloc(32));
}

/** What it keeps of an account. */
export const keysData: AccountData = { name: 'keys', tables: ['keys.reservations', 'keys.keys'] };
