import type { AccountData } from '../../kernel/deletion.ts';
export { walletCommands } from './wallet.commands.ts';
export { debit } from './wallet.sql.ts';

/** What it keeps of an account. */
export const walletData: AccountData = {
  name: 'wallet',
  tables: [],
  keeps: { 'wallet.ledger': 'records of payments must be kept for years; they name the account by its id alone' },
};
