import type { Manifest } from '../../kernel/feature.ts';
import { walletCommands } from './wallet.commands.ts';
export { debit, sumEntries as balanceOf } from './wallet.sql.ts';

/** The feature without a running platform. */
export const walletManifest: Manifest = {
  name: 'wallet',
  data: {
    tables: [],
    keeps: { 'wallet.ledger': 'records of payments must be kept for years; they name the account by its id alone' },
  },
  commands: walletCommands,
};
