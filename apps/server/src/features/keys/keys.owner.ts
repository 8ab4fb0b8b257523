import type { Kernel } from '../../kernel/context.ts';
import { inTransaction } from '../../kernel/db.ts';
import { hasAccounts, insertAccount } from '../accounts/index.ts';
import { issueKey } from './keys.issue.ts';

/** Any constant: the number under which first starts queue up. */
const lockId = 7_822_002;

/**
 * On a database without accounts, creates the owner's account and a key that may do everything, and answers the key's
 * text; later, undefined. When several gateways start at once, one of them does it (launch contract).
 */
export async function createOwner(kernel: Pick<Kernel, 'sql' | 'keyring'>): Promise<string | undefined> {
  return inTransaction(kernel.sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${lockId})`;
    if (await hasAccounts(tx)) return undefined;
    const owner = await insertAccount(tx, { email: 'owner@localhost', name: 'Owner', toolLevel: 'l3_sandbox' });
    if (!owner) throw new Error('the owner account was not created');
    const { text } = await issueKey(kernel, tx, {
      accountId: owner.id,
      name: 'Owner key',
      scopes: ['*'],
      toolLevel: 'l3_sandbox',
    });
    return text;
  });
}
