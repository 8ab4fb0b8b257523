export { walletCommands } from './wallet.commands.ts';
