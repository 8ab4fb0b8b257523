import { ApiError, notFound } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import { findProject, type SeenProject } from './projects.sql.ts';

/** Projects as other features use them. */
export const Projects = {
  /** One that the account sees; it is not deleted until the transaction ends. Throws 404. */
  async hold(tx: Db, accountId: string, id: string): Promise<SeenProject> {
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
