import type { Manifest } from '../../kernel/feature.ts';
import { accountsCommands } from './accounts.commands.ts';
export { deleteOn } from './accounts.deletion.ts';
export { deletionCommands, type DeletionParts } from './accounts.deletion.commands.ts';
export { accountByEmail, defaultAccount } from './accounts.commands.ts';
export { findAccountByEmail, findEmail, hasAccounts, insertAccount } from './accounts.sql.ts';

/** The feature without a running platform. */
export const accountsManifest: Manifest = {
  name: 'accounts',
  data: {
    tables: [],
    keeps: { 'accounts.deletions': 'for a day, to find what came late' },
  },
  commands: accountsCommands,
};
