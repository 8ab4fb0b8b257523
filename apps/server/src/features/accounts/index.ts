import type { Manifest } from '../../kernel/feature.ts';
export { deleteOn, markDeleted } from './accounts.deletion.ts';
export { deletionCommands, type DeletionParts } from './accounts.deletion.commands.ts';
export { accountByEmail, accountsCommands, defaultAccount, levelOption, vouchedAccount } from './accounts.commands.ts';
export { claimAddress } from './accounts.claims.ts';
export { hasUnprovedAddress, proveAddress } from './accounts.claims.sql.ts';
export { changeProfile, checkOperator, inviteAccount, lastOperatorText, type SignIns } from './accounts.people.ts';
export { findFirstOperator, findLocales, findProfile, isLastOperator, listOperators } from './accounts.people.sql.ts';
export {
  emailsOf,
  findAccountByEmail,
  findEmail,
  hasAccounts,
  insertAccount,
  listDeleted,
  lockEmail as lockAccount,
  nameAccount,
  setOperator,
  suspendListed,
  updateEmail as changeEmail,
} from './accounts.sql.ts';

/** The feature without a running platform. */
export const accountsManifest: Manifest = {
  name: 'accounts',
  data: {
    tables: [],
    keeps: {
      'accounts.deletions':
        'for a day, to find what came late; SHA-256 of its id stays in `accounts.deleted` for 400 days, or as long as backups are kept',
    },
  },
};
