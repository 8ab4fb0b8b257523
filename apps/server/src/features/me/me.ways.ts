import { ApiError, notFound } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import { lockAccount } from '../accounts/index.ts';
import { hasPassword, listPasskeys } from '../auth/index.ts';

/** How a person can sign in once the transaction is over. */
interface Ways {
  password: boolean;
  passkeys: readonly { id: string }[];
}

/** The ways in of an account; until the transaction ends nobody else takes one away. Throws 404. */
export async function lockWays(tx: Db, accountId: string): Promise<Ways> {
  if ((await lockAccount(tx, accountId)) === undefined) throw notFound('account');
  return { password: await hasPassword(tx, accountId), passkeys: await listPasskeys(tx, accountId) };
}

/** The refusal to take the last way in away. */
export const lastWayIn = (): ApiError =>
  new ApiError('last_way_in', 'this is your last way to sign in; add a passkey or set a password first');
