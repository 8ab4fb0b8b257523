export { accountByEmail, accountsCommands, defaultAccount } from './accounts.commands.ts';
export { findEmail, hasAccounts, insertAccount } from './accounts.sql.ts';
