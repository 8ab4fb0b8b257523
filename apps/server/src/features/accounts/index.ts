export { accountByEmail, accountsCommands } from './accounts.commands.ts';
export { hasAccounts, insertAccount } from './accounts.sql.ts';
