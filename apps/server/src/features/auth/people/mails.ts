import { inTransaction } from '../../../kernel/db/db.ts';
import { isKnownNetwork } from './logins.sql.ts';
import { countMail } from './mails.sql.ts';
import type { PeopleParts } from './parts.ts';

/** Mails that strangers may have sent to an address in a day (UTC); its person may have as many more. */
const mostOfDay = 20;
/** Those of one network that the account did not sign in from lately: one stranger does not use up the day. */
const mostOfNetwork = 5;

/** Each spelling of an address is the same one to limits. */
export const plainAddress = (email: string): string => email.normalize('NFKC').toLowerCase();

/**
 * Counts a mail to an address, of any kind; false when it had those of the day. Networks that the account signed in from in
 * the last 30 days have a count of their own, so that strangers cannot keep its person from a mail.
 */
export async function mayMail(
  { sql, clock, keyring }: Pick<PeopleParts, 'sql' | 'clock' | 'keyring'>,
  { email, accountId, network }: { email: string; accountId: string | null; network: string },
): Promise<boolean> {
  const hashOf = (...subject: string[]) => keyring.mac('mail', JSON.stringify([plainAddress(email), ...subject]));
  return inTransaction(sql, async (tx) => {
    const count = (hash: Buffer, most: number) => countMail(tx, clock, hash, most);
    if (await isKnownNetwork(tx, clock, accountId, network)) return count(hashOf('known'), mostOfDay);
    return (await count(hashOf('network', network), mostOfNetwork)) && (await count(hashOf(), mostOfDay));
  });
}
