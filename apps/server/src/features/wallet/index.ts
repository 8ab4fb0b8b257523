export { walletCommands } from './wallet.commands.ts';
export { debit } from './wallet.sql.ts';
