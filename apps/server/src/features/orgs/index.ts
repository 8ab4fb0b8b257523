import type { Manifest } from '../../kernel/feature.ts';
import { orgsCommands } from './orgs.commands.ts';
import { leaveOrgs } from './orgs.sql.ts';
export { type OrgRemoval, orgRemovalCommands } from './orgs.removal.ts';
export { orgRoleOf, orgsOf, orgsOwnedAlone } from './orgs.sql.ts';

/** The feature without a running platform. */
export const orgsManifest: Manifest = {
  name: 'orgs',
  data: {
    tables: [],
    async end({ sql }, { accountId }) {
      const { members, orgs } = await leaveOrgs(sql, accountId);
      return { deleted: { 'orgs.members': members, 'orgs.orgs': orgs } };
    },
  },
  commands: orgsCommands,
};
