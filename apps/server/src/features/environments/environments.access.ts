import { environmentRoles } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { EnvironmentRole, SeenEnvironment } from './environments.rows.ts';
import { findSeen } from './environments.sql.ts';
import { environmentStatesTable } from './environments.states.ts';

/** Whether a role is another one or above it. */
export const isAtLeast = (role: EnvironmentRole, least: EnvironmentRole): boolean =>
  environmentRoles.indexOf(role) >= environmentRoles.indexOf(least);

/** Throws 403 for a role below the one that is needed (document 3: a violation on something visible is 403). */
export function checkRole(role: EnvironmentRole, least: EnvironmentRole, what = 'this'): void {
  if (isAtLeast(role, least)) return;
  throw new ApiError('forbidden', `${what} needs the role ${least} in this environment; yours is ${role}`);
}

/**
 * An environment in which the caller has at least a role. Throws 404 for one in which the caller has none, then 403. Everything
 * that asks who may do what in an environment asks this.
 */
export async function enter(
  db: Db,
  { accountId, id, least }: { accountId: string; id: string; least: EnvironmentRole },
): Promise<SeenEnvironment> {
  return seenAs(await findSeen(db, accountId, id), least);
}

/** The same, locked until the transaction ends: for whoever moves it. */
export async function hold(
  tx: Db,
  { accountId, id, least }: { accountId: string; id: string; least: EnvironmentRole },
): Promise<SeenEnvironment> {
  return seenAs(await findSeen(tx, accountId, id, true), least);
}

/** The same for whoever changes something in it. Throws 409 for one that is destroyed. */
export async function holdThere(
  tx: Db,
  wanted: { accountId: string; id: string; least: EnvironmentRole },
): Promise<SeenEnvironment> {
  const row = await hold(tx, wanted);
  if (!environmentStatesTable.isFinal(row.state)) return row;
  throw new ApiError('invalid_transition', 'this environment is destroyed: nothing in it can be changed any more');
}

function seenAs(row: SeenEnvironment | undefined, least: EnvironmentRole): SeenEnvironment {
  if (!row) throw notFound('environment');
  checkRole(row.role, least);
  return row;
}
