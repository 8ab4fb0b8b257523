import { type Who, writeAct } from '../../../kernel/records/audit.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import { type Db, onCommit } from '../../../kernel/db/db.ts';
import { lockQuota, useOf } from '../../../kernel/records/quotas.ts';
import {
  insertLogin,
  lapsedLogins,
  loginsQuota,
  type NewLogin,
  offerToken,
  revokeBeyond,
  revokeLogins,
  setAuthTime,
  trimEnded,
} from './logins.sql.ts';
import { announceChange, type PeopleParts, within } from './parts.ts';
import { hashOfSecret, newSecret } from './secrets.ts';

type Parts = Pick<PeopleParts, 'sql' | 'clock' | 'config' | 'gateways'>;

/** Whose login, and who ends it. `tx`: a transaction that it is a part of. */
interface Ending {
  accountId: string;
  by: Who;
  tx?: Db;
}

const mostName = 120;
const short = (text: string): string => text.replaceAll('\0', '').toWellFormed().slice(0, mostName).toWellFormed();

/**
 * Signs a browser in. `token` is the text of its cookie, told once. An account has 50 at most (quota `logins`): the one that
 * was not seen for longest ends, and is refused everywhere when this answers. Throws 403 `account_suspended`.
 */
export async function createLogin(
  parts: Parts,
  { by, tx: given, ...login }: NewLogin & { by: Who; tx?: Db },
): Promise<{ id: string; token: string; expiresAt: string }> {
  const token = newSecret();
  const { config, clock } = parts;
  const { accountId } = login;
  const named = { ...login, name: short(login.name), platform: short(login.platform) };
  return within(parts, given, async (tx) => {
    await lockQuota(tx, loginsQuota, accountId);
    const row = await insertLogin(tx, clock, hashOfSecret(token) as Buffer, named);
    if (!row)
      throw new ApiError('account_suspended', 'this account cannot sign in; ask whoever runs this installation');
    const { limit } = await useOf(config, tx, loginsQuota, accountId);
    const gone = await revokeBeyond(tx, clock, { accountId, most: limit, kept: row.id });
    await trimEnded(tx, clock, accountId);
    const details = { amr: login.amr, network: login.network };
    await writeAct(tx, { accountId, by, action: 'auth.signIn', subject: row.id, details });
    for (const id of gone)
      await writeAct(tx, { accountId, by, action: 'auth.signOut', subject: id, details: { newer: row.id } });
    await onCommit(tx, () => forget(parts, accountId, gone));
    return { id: row.id, token, expiresAt: row.expires_at };
  });
}

/** Signs one browser out; false when the account has no such login. It is refused everywhere when this answers. */
export async function endLogin(parts: Parts, { loginId, ...ending }: Ending & { loginId: string }): Promise<boolean> {
  return (await end(parts, ending, { only: loginId })) > 0;
}

/** Signs out every browser of an account, or all but one; answers how many. They are refused everywhere when this answers. */
export async function endLogins(parts: Parts, { except, ...ending }: Ending & { except?: string }): Promise<number> {
  return end(parts, ending, { except });
}

async function end(
  parts: Parts,
  { accountId, by, tx: given }: Ending,
  which: { only?: string; except?: string | undefined },
): Promise<number> {
  return within(parts, given, async (tx) => {
    const ended = await revokeLogins(tx, parts.clock, accountId, which);
    for (const id of ended) await writeAct(tx, { accountId, by, action: 'auth.signOut', subject: id });
    await onCommit(tx, () => forget(parts, accountId, ended));
    return ended.length;
  });
}

/** More than this many are forgotten as all credentials of the account, whose clients come back. */
const mostApart = 20;

async function forget(parts: Parts, accountId: string, ids: readonly string[]): Promise<void> {
  if (ids.length > mostApart) return announceChange(parts, { accountId });
  await Promise.all(ids.map((credentialId) => announceChange(parts, { accountId, credentialId })));
}

/**
 * Notes that the person proved anew who they are; answers when (milliseconds since the epoch), and every gateway knows it then.
 * Undefined: the login does not count any more.
 */
export async function freshenLogin(
  parts: Parts,
  { accountId, loginId, amr, by, tx: given }: Ending & { loginId: string; amr: readonly string[] },
): Promise<number | undefined> {
  return within(parts, given, async (tx) => {
    const at = await setAuthTime(tx, parts.clock, { accountId, id: loginId, amr });
    if (at === undefined) return undefined;
    await writeAct(tx, { accountId, by, action: 'auth.proveAgain', subject: loginId, details: { amr } });
    await onCommit(tx, () => forget(parts, accountId, [loginId]));
    return Date.parse(at);
  });
}

/**
 * Offers the browser of a login another token than the one that it shows, which ends when the other is first used: an
 * answer may be lost on its way, and other tabs of the browser ask meanwhile. What was offered before counts no more:
 * who has a copy of the cookie may have asked for that. Throws 401 where what is shown has ended since the request
 * began.
 */
export async function renewLogin(
  parts: Pick<Parts, 'clock'>,
  tx: Db,
  { loginId, shown }: { loginId: string; shown: string | undefined },
): Promise<string> {
  const token = newSecret();
  const [hash, offered] = [hashOfSecret(shown ?? ''), hashOfSecret(token) as Buffer];
  if (!hash || !(await offerToken(tx, parts.clock, { id: loginId, shown: hash, offered })))
    throw new ApiError('invalid_api_key', 'this browser was signed out meanwhile; sign in again');
  return token;
}

/** Those of the logins that do not count now: ended, over, unknown, or of an account that may not go on. */
export const findLapsedLogins = (db: Db, parts: Pick<Parts, 'clock'>, ids: readonly string[]): Promise<string[]> =>
  lapsedLogins(db, parts.clock, ids);
