import { type AuditRecorder, bySystem, type Who, writeAct } from '../../../kernel/records/audit.ts';
import { notFound } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import type { Attempt, Guesses } from './guesses.ts';
import type { PasswordHashing } from './hashing.ts';
import { type PeopleParts, within } from './parts.ts';
import { deletePassword, findAddress, findPassword, findPerson, upsertPassword } from './passwords.sql.ts';
import { checkNewPassword, type PasswordProblem } from './strength.ts';

/** Kept once in a process: places for hashing are dealt there. */
type Parts = Pick<PeopleParts, 'sql' | 'clock'> & {
  audit: AuditRecorder;
  hashing: PasswordHashing;
  guesses: Guesses;
};

/** The result of a try: who it is; one answer to all that is wrong; or when the next try may come. */
type PasswordAnswer = { accountId: string } | 'wrong' | { waitSeconds: number };

/**
 * Checks address and password. An unknown address, an account without a password, one that is suspended or being deleted, and
 * a wrong password have one answer, after one run of argon2 each. Throws 503 `unavailable` when too many are checked at once.
 * `network`: see `networkOf`.
 */
export async function signInByPassword(
  parts: Parts,
  { email, password, network, by = bySystem }: { email: string; password: string; network: string; by?: Who },
): Promise<PasswordAnswer> {
  const person = await findPerson(parts.sql, email);
  const accountId = person?.account_id ?? null;
  const begun = await parts.guesses.begin({ accountId, email, network, isPassword: true });
  if ('waitSeconds' in begun) return begun;
  const isRight = await verify(parts, begun, { password, stored: person?.hash ?? undefined, network });
  if (isRight && person?.may_sign_in) {
    await begun.succeeded();
    return { accountId: person.account_id };
  }
  // One line each would let an attacker write as many: alike ones are counted.
  if (accountId) parts.audit.record({ accountId, by, action: 'auth.signInFailed', details: { network } });
  return (await begun.failed()) ?? 'wrong';
}

/** Checks the password of a person who is signed in, for a fresh proof; slowed down as signing in is. */
export async function provePassword(
  parts: Parts,
  { accountId, password, network }: { accountId: string; password: string; network: string },
): Promise<'right' | 'wrong' | { waitSeconds: number }> {
  const begun = await parts.guesses.begin({ accountId, email: '', network, isPassword: true });
  if ('waitSeconds' in begun) return begun;
  const stored = await findPassword(parts.sql, accountId);
  if (!(await verify(parts, begun, { password, stored, network }))) return (await begun.failed()) ?? 'wrong';
  await begun.succeeded();
  return 'right';
}

async function verify(
  { hashing }: Pick<Parts, 'hashing'>,
  attempt: Attempt,
  { password, stored, network }: { password: string; stored: string | undefined; network: string },
): Promise<boolean> {
  try {
    return await hashing.verify(password, stored, network);
  } catch (error) {
    // There was no place: it was not looked at.
    await attempt.takeBack();
    throw error;
  }
}

/**
 * Sets a password; answers why it is not taken, or undefined. It ends no login: see `endLogins`. Throws 404 for an account that
 * is gone or being deleted, and 503 `unavailable` when too many are hashed at once. `email`: of an account that gets this
 * address in the same transaction; if unset: the one that it has.
 */
export async function setPassword(
  parts: Pick<Parts, 'sql' | 'clock' | 'hashing'>,
  { accountId, password, by, ...given }: { accountId: string; password: string; by: Who; email?: string; tx?: Db },
): Promise<PasswordProblem | undefined> {
  const address = await findAddress(given.tx ?? parts.sql, accountId);
  if (!address) throw notFound('account');
  const problem = checkNewPassword(password, given.email ?? address.email);
  if (problem !== undefined) return problem;
  const hash = await parts.hashing.hash(password, accountId);
  await within(parts, given.tx, async (tx) => {
    await upsertPassword(tx, parts.clock, accountId, hash);
    await writeAct(tx, { accountId, by, action: 'auth.setPassword', subject: accountId });
  });
  return undefined;
}

/** Takes the password away, so that passkeys alone sign in; false when there was none. The caller makes sure that there is a passkey. */
export async function removePassword(
  parts: Pick<Parts, 'sql'>,
  { accountId, by, tx: given }: { accountId: string; by: Who; tx?: Db },
): Promise<boolean> {
  return within(parts, given, async (tx) => {
    const had = await deletePassword(tx, accountId);
    if (had) await writeAct(tx, { accountId, by, action: 'auth.removePassword', subject: accountId });
    return had;
  });
}

/** Whether a password is set. */
export const hasPassword = async (db: Db, accountId: string): Promise<boolean> =>
  (await findPassword(db, accountId)) !== undefined;
