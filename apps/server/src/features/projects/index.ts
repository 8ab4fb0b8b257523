import type { Manifest } from '../../kernel/feature.ts';
import { passOnProjects, projectsQuota } from './projects.sql.ts';

export { passOnOrgProjects } from './projects.pass-on.ts';
export { Projects } from './projects.store.ts';
export type { SeenProject } from './projects.sql.ts';

/** The feature without a running platform. */
export const projectsManifest: Manifest = {
  name: 'projects',
  data: {
    tables: ['projects.projects'],
    async end({ sql }, { accountId }) {
      await passOnProjects(sql, accountId);
      return { deleted: {} };
    },
  },
  quotas: [projectsQuota],
};
