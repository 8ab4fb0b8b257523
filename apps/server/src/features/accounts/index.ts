import type { AccountData } from '../../kernel/deletion.ts';
export { deleteOn } from './accounts.deletion.ts';
export { deletionCommands, type DeletionParts } from './accounts.deletion.commands.ts';
export { accountByEmail, accountsCommands, defaultAccount } from './accounts.commands.ts';
export { findAccountByEmail, findEmail, hasAccounts, insertAccount } from './accounts.sql.ts';

/** What it keeps of an account. */
export const accountsData: AccountData = {
  name: 'accounts',
  tables: [],
  keeps: { 'accounts.deletions': 'for a day, to find what came late' },
};
