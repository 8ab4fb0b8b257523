import { randomUUID } from 'node:crypto';
import { bySystem, type Who, writeAct } from '../../../kernel/records/audit.ts';
import { notFound } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { countCodes, replaceCodes, takeCode } from './codes.sql.ts';
import { insertOpen } from './links.ts';
import { tryMailCode } from './links.sql.ts';
import { type PeopleParts, within } from './parts.ts';
import { findPerson } from './passwords.sql.ts';
import { lettersAndDigits, newCode, shownCode, typedCode } from './secrets.ts';

type Parts = Pick<PeopleParts, 'sql' | 'clock' | 'keyring'>;

const recoveryCodes = 10;
/** 50 bits: nobody guesses one through the network. */
const recoverySigns = 10;

const hashOfRecovery = ({ keyring }: Pick<Parts, 'keyring'>, accountId: string, code: string): Buffer =>
  keyring.mac('recovery-code', `${accountId}:${typedCode(code)}`);

/** Makes ten recovery codes, `XXXXX-XXXXX`, told once; older ones count no more. Throws 404 for an account that is gone. */
export async function makeRecoveryCodes(
  parts: Parts,
  { accountId, by, tx: given }: { accountId: string; by: Who; tx?: Db },
): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodes }, () => newCode(lettersAndDigits, recoverySigns));
  const hashes = codes.map((code) => hashOfRecovery(parts, accountId, code));
  await within(parts, given, async (tx) => {
    if (!(await replaceCodes(tx, parts.clock, accountId, hashes))) throw notFound('account');
    await writeAct(tx, { accountId, by, action: 'auth.makeRecoveryCodes', subject: accountId });
  });
  return codes.map(shownCode);
}

/** Recovery codes that are left. */
export const countRecoveryCodes = (db: Db, accountId: string): Promise<number> => countCodes(db, accountId);

/**
 * Uses a recovery code, once. One answer, undefined, to an address that is unknown or whose account may not sign in, and to a
 * code that is wrong or used. Give the transaction of what follows, such as a new password.
 */
export async function useRecoveryCode(
  parts: Parts,
  { email, code, by = bySystem, tx: given }: { email: string; code: string; by?: Who; tx?: Db },
): Promise<{ accountId: string } | undefined> {
  return within(parts, given, async (tx) => {
    const person = await findPerson(tx, email);
    // Asked for nobody too, so that both take the same steps.
    const accountId = person?.may_sign_in ? person.account_id : nobody;
    if (!(await takeCode(tx, parts.clock, accountId, hashOfRecovery(parts, accountId, code)))) return undefined;
    await writeAct(tx, { accountId, by, action: 'auth.useRecoveryCode', subject: accountId });
    return { accountId };
  });
}

/** An id that no account has. */
const nobody = '00000000-0000-0000-0000-000000000000';

/** What a code by mail is for: no code counts for another purpose. */
type MailPurpose = 'sign-in' | 'recover' | 'verify';

const mailDigits = 8;
/** Wrong codes, after which none counts. */
const mailTries = 5;

const hashOfMailCode = (
  { keyring }: Pick<Parts, 'keyring'>,
  { id, email, purpose, code }: { id: string; email: string; purpose: MailPurpose; code: string },
): Buffer => keyring.mac('mail-code', JSON.stringify([id, email.toLowerCase(), purpose, typedCode(code)]));

/**
 * Makes a code of eight digits for an address, ten minutes long; an address without an account gets one too (`accountId` null),
 * so that both take the same steps: the caller mails it only where there is an account. `id` belongs to the browser that
 * asked, and to no one else: others cannot use up its tries.
 */
export async function createMailCode(
  parts: Parts,
  {
    email,
    purpose,
    accountId,
    network,
    tx: given,
  }: { email: string; purpose: MailPurpose; accountId: string | null; network?: string; tx?: Db },
): Promise<{ id: string; code: string; expiresAt: string }> {
  const id = randomUUID();
  const code = newCode('0123456789', mailDigits);
  const row = await within(parts, given, (tx) =>
    insertOpen(tx, parts, {
      id,
      purpose: 'mail',
      accountId,
      email,
      tokenHash: null,
      codeHash: hashOfMailCode(parts, { id, email, purpose, code }),
      details: {},
      network,
    }),
  );
  return { id, code, expiresAt: row.expires_at };
}

/**
 * Tries a code by mail: five tries, one use. One answer, undefined, to a code that is wrong, over, used or for another address
 * or purpose, and to one that had its tries.
 */
export async function useMailCode(
  parts: Parts,
  given: { id: string; email: string; purpose: MailPurpose; code: string },
): Promise<{ accountId: string | null } | undefined> {
  // Never in a transaction of the caller: a try counts whatever becomes of what follows.
  const codeHash = hashOfMailCode(parts, given);
  const row = await tryMailCode(parts.sql, parts.clock, {
    id: given.id,
    email: given.email,
    codeHash,
    most: mailTries,
  });
  return row && { accountId: row.account_id };
}
