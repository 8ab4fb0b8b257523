import type { account, ToolLevel } from '@svc/contract';
import type { z } from 'zod';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Db, inTransaction, onCommit } from '../../kernel/db/db.ts';
import type { Context } from '../../kernel/http/context.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import { type Who, writeAct } from '../../kernel/records/audit.ts';
import { type AddressClaims, claimAddress } from './accounts.claims.ts';
import { insertAccount, lockEmail, setOperator, setSuspended, updateAccount, updateEmail } from './accounts.sql.ts';
import {
  findPersonById,
  isLastOperator,
  isOperator,
  lockOperators,
  type PersonRow,
  type ProfileChange,
  updateProfile,
} from './accounts.people.sql.ts';

type Parts = Pick<Kernel, 'sql' | 'gateways'>;

/** How people of an account sign in, as operators change it; the feature `auth` does it. */
export interface SignIns extends AddressClaims {
  /** When a browser of each was used last, by account; those without one are left out. */
  lastSeen(db: Db, accountIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The address of a link with which the person of a new account chooses how to sign in; mailed too, when mail is set. */
  invite(tx: Db, person: { accountId: string; email: string; by: Who; language: string | undefined }): Promise<string>;
  /** The address of a link with which a person gets in, or back in. */
  link(accountId: string, by: Who): Promise<string>;
  /** Signs out every browser; answers how many. */
  signOut(accountId: string, by: Who): Promise<number>;
}

/** Lets operators through; to all others the routes of accounts are not there. */
export async function checkOperator({ db, actor }: Pick<Context, 'db' | 'actor'>): Promise<void> {
  if (!(await isOperator(db, actor.accountId))) throw notFound();
}

/** Rows in the words of the API. */
export async function toRecords(
  db: Db,
  signIns: SignIns,
  rows: readonly PersonRow[],
): Promise<z.input<typeof account>[]> {
  const seen = await signIns.lastSeen(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map(({ id, email, name, operator, suspended, subscription, tool_level, created_at }) => {
    const at = seen.get(id);
    return {
      id,
      email,
      name,
      operator,
      suspended,
      subscription,
      tool_level,
      created_at,
      ...(at !== undefined && { last_seen_at: at }),
    };
  });
}

/** One account in the words of the API. Throws 404. */
export async function recordOf(db: Db, signIns: SignIns, id: string): Promise<z.input<typeof account>> {
  const row = await findPersonById(db, id);
  const [record] = row ? await toRecords(db, signIns, [row]) : [];
  if (!record) throw notFound('account');
  return record;
}

/** Whose account is made. */
interface Invited {
  email: string;
  name: string;
  tool_level: ToolLevel;
  by: Who;
  language?: string | undefined;
}

/** Creates an account with a link for its person, in the caller's transaction. Throws 409 `email_taken`. */
export async function inviteAccount(
  tx: Db,
  signIns: Pick<SignIns, 'invite' | 'addressTaken'>,
  { email, name, tool_level: toolLevel, by, language }: Invited,
): Promise<{ id: string; url: string }> {
  const taken = await claimAddress(tx, signIns, { email, by });
  const made = await insertAccount(tx, { email, name, toolLevel });
  if (!made) throw emailTaken(email);
  const details = { email, ...taken, ...(toolLevel !== 'l0' && { tool_level: toolLevel }) };
  await writeAct(tx, { accountId: made.id, by, action: 'accounts.create', subject: made.id, details });
  return { id: made.id, url: await signIns.invite(tx, { accountId: made.id, email, by, language }) };
}

/** The refusal of an address that another account has. */
const emailTaken = (email: string): ApiError =>
  new ApiError(
    'email_taken',
    `another account has the address ${email}; use another one. If it is the person you mean, make them a link: svc accounts link --email ${email}`,
  );

/** Why the last operator stays, and what to do. */
export const lastOperatorText =
  'no other account is an operator; make one first (svc accounts set --operator on, or PATCH /v1/accounts/{id})';

/** The refusal of what would leave nobody to run the installation. */
const lastOperator = (): ApiError => new ApiError('last_operator', lastOperatorText);

/** What an operator changes of an account. */
interface StandingChange {
  id: string;
  suspended?: boolean | undefined;
  operator?: boolean | undefined;
  tool_level?: ToolLevel | undefined;
  by: Who;
}

/**
 * Suspends an account, lets it go on, or changes its tool level and whether it is an operator; on every gateway when this answers. Throws 404 for
 * one that is gone or being deleted, 409 `last_operator`.
 */
export async function changeStanding(
  parts: Parts,
  { id, suspended, operator, tool_level: toolLevel, by }: StandingChange,
): Promise<void> {
  await inTransaction(parts.sql, async (tx) => {
    await lockOperators(tx);
    if ((await lockEmail(tx, id)) === undefined || !(await findPersonById(tx, id))) throw notFound('account');
    // Who has the machine can let an account go on again; a request could not.
    const endsRights = operator === false || (suspended === true && by.kind !== 'cli');
    if (endsRights && (await isLastOperator(tx, id))) throw lastOperator();
    const write = (verb: string, details?: object) =>
      writeAct(tx, { accountId: id, by, action: `accounts.${verb}`, subject: id, details });
    if (operator !== undefined) {
      await setOperator(tx, id, operator);
      await write('set', { operator });
    }
    if (toolLevel !== undefined) {
      await updateAccount(tx, id, { tool_level: toolLevel });
      await write('set', { tool_level: toolLevel });
    }
    if (suspended !== undefined) {
      await setSuspended(tx, id, suspended);
      await write(suspended ? 'suspend' : 'resume');
    }
    await onCommit(tx, () => parts.gateways.announce(credentialsChanged, { accountId: id } satisfies CredentialChange));
  });
}

/** Changes what a person may change of their own account. Throws 409 `email_taken`. */
export async function changeProfile(
  tx: Db,
  { id, email, by, ...change }: ProfileChange & { id: string; email?: string | undefined; by: Who },
): Promise<void> {
  const before = await lockEmail(tx, id);
  if (before === undefined) throw notFound('account');
  if (email !== undefined) {
    // Who runs the installation may give any address away, to themselves too.
    const isOwn = !(await isOperator(tx, id));
    if (!(await updateEmail(tx, id, email, { isOwn }).catch(takenMeanwhile))) throw emailTaken(email);
  }
  await updateProfile(tx, id, change);
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const address = email !== undefined && { email, email_before: before };
  const details = { ...Object.fromEntries(given), ...address };
  await writeAct(tx, { accountId: id, by, action: 'me.update', subject: id, details });
}

/** Two who take an address at once meet at its index. */
function takenMeanwhile(error: unknown): false {
  if ((error as { code?: unknown }).code === '23505') return false;
  throw error;
}
