import type { AccountData } from '../../kernel/deletion.ts';
import { leaveOrgs } from './orgs.sql.ts';
export { orgsOwnedAlone } from './orgs.sql.ts';
export { orgsCommands } from './orgs.commands.ts';

/** What it keeps of an account. */
export const orgsData: AccountData = {
  name: 'orgs',
  tables: [],
  async end({ sql }, { accountId }) {
    const { members, orgs } = await leaveOrgs(sql, accountId);
    return { deleted: { 'orgs.members': members, 'orgs.orgs': orgs } };
  },
};
