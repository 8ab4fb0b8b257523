import { newEmail } from '@svc/contract';
import { bySystem, writeAct } from '../../kernel/records/audit.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { hasAccounts, insertAccount, setOperator } from '../accounts/index.ts';
import { issueKey } from './keys.issue.ts';
import { lockFirstStart } from './keys.sql.ts';

/** The first account, and the text of its key. */
export interface Owned {
  text: string;
  accountId: string;
}

/**
 * On a database without accounts, creates the owner's account and a key that may do everything, and answers the key's
 * text and the account; later, undefined. When several gateways start at once, one of them does it (launch contract).
 */
export async function createOwner(kernel: Pick<Kernel, 'sql' | 'keyring' | 'config'>): Promise<Owned | undefined> {
  return inTransaction(kernel.sql, async (tx) => {
    await lockFirstStart(tx);
    if (await hasAccounts(tx)) return undefined;
    const email = newEmail(kernel.config.ownerEmail) ?? kernel.config.ownerEmail;
    const owner = await insertAccount(tx, { email, name: 'Owner', toolLevel: 'l3_sandbox' });
    if (!owner) throw new Error('the owner account was not created');
    await setOperator(tx, owner.id, true);
    const { id, text } = await issueKey(kernel, tx, {
      accountId: owner.id,
      name: 'Owner key',
      scopes: ['*'],
      toolLevel: 'l3_sandbox',
    });
    const created = { accountId: owner.id, by: bySystem };
    await writeAct(tx, { ...created, action: 'accounts.create', subject: owner.id });
    await writeAct(tx, {
      ...created,
      action: 'keys.create',
      subject: id,
      details: { name: 'Owner key', scopes: ['*'] },
    });
    return { text, accountId: owner.id };
  });
}
