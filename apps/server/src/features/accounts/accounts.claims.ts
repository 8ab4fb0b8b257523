import type { Db } from '../../kernel/db/db.ts';
import { type Who, writeAct } from '../../kernel/records/audit.ts';
import { type FreedAddress, freeUnproved } from './accounts.claims.sql.ts';

/** An address that an account lost, and the one that it has in its place. */
type LostAddress = FreedAddress & { by: Who };

/** Who tells a person that they lost an address, and ends what lies in the mailbox of it. */
export interface AddressClaims {
  addressTaken(tx: Db, lost: LostAddress): Promise<void>;
}

/**
 * Takes an address from an account that gave it to itself and never proved it, for who is given it now (`accountId`, unset for a
 * new account), in the caller's transaction. Every other address stays where it is. Answers who had it, for the audit log.
 */
export async function claimAddress(
  tx: Db,
  claims: AddressClaims,
  { email, accountId, by }: { email: string; accountId?: string; by: Who },
): Promise<{ taken_from?: string }> {
  const lost = await freeUnproved(tx, email, accountId);
  for (const one of lost) {
    const { accountId: id, before: email_before, email: now } = one;
    const details = { email: now, email_before };
    await writeAct(tx, { accountId: id, by, action: 'accounts.address_taken', subject: id, details });
    await claims.addressTaken(tx, { ...one, by });
  }
  return lost[0] ? { taken_from: lost[0].accountId } : {};
}
