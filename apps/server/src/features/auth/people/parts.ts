import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { credentialsChanged } from '../../../kernel/mount/access.ts';

/** The parts of the kernel that people's credentials use; commands have them too. */
export type PeopleParts = Pick<Kernel, 'sql' | 'clock' | 'keyring' | 'config' | 'gateways'>;

/** Works in the caller's transaction if there is one, else in one of its own. */
export const within = <T>(
  { sql }: Pick<Kernel, 'sql'>,
  tx: Db | undefined,
  work: (tx: Db) => Promise<T>,
): Promise<T> => (tx === undefined ? inTransaction(sql, work) : work(tx));

/** Whose credentials changed: one of them, or all of an account; null: anybody's. */
export type LoginChange = { accountId: string; credentialId?: string } | null;

/** Tells every gateway that a login, or all of an account, may do less now; answers when all have acted. */
export const announceChange = ({ gateways }: Pick<Kernel, 'gateways'>, change: LoginChange): Promise<void> =>
  gateways.announce(credentialsChanged, change);
