import { ApiError, notFound } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import { orgRoleOf } from '../orgs/index.ts';
import { findProject, type SeenProject } from './projects.sql.ts';

/** Projects as other features use them. */
export const Projects = {
  /**
   * One that the account sees; until the transaction ends it is not deleted, and the account is not taken out of its
   * organisation: what is made in it is seen by whoever ends the membership. Throws 404.
   */
  async hold(tx: Db, accountId: string, id: string): Promise<SeenProject> {
    const { org_id: orgId } = seen(await findProject(tx, accountId, id));
    // Before the project: a removal holds the membership and then wants the projects.
    if (orgId !== null) await orgRoleOf(tx, accountId, orgId);
    return seen(await findProject(tx, accountId, id, 'share'));
  },
};

/** Throws 404 for a project that is not there, or that the caller does not see. */
export function seen(row: SeenProject | undefined): SeenProject {
  if (!row) throw notFound('project');
  return row;
}

/** The same of one that the caller may change, locked until the transaction ends. Throws 403. */
export async function lockChanged(tx: Db, accountId: string, id: string): Promise<SeenProject> {
  const row = seen(await findProject(tx, accountId, id, 'update'));
  if (row.may_change) return row;
  throw new ApiError('forbidden', 'only its owner, or an owner or admin of its organisation, may change a project');
}
