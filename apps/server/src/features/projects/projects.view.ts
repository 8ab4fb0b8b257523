import type { project } from '@svc/contract';
import type { z } from 'zod';
import type { ProjectRow } from './projects.sql.ts';

/** A project as the API shows it (document 3, Project). */
export const toProject = (row: ProjectRow): z.input<typeof project> => ({
  id: row.id,
  ownerUserId: row.account_id,
  orgId: row.org_id,
  name: row.name,
  slug: row.slug,
  repoUrl: row.repo_url,
  defaultBranch: row.default_branch,
  devcontainerPath: row.devcontainer_path,
  isolation: row.isolation,
  settings: row.settings,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
