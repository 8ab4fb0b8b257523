import { ApiError, notFound } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import { isAtLeast } from './environments.access.ts';
import { type Standing, standingsOf, type Wanted } from './environments.reach.sql.ts';
import type { EnvironmentRole } from './environments.rows.ts';
import { environmentStatesTable, isServed } from './environments.states.ts';

/** What somebody may reach, and as what. */
export interface Reach {
  /** Null: no member. */
  role: EnvironmentRole | null;
  /** Of a member whose machine has it. */
  linuxUser: string | undefined;
  isPublished: boolean;
  /** The account that the environment belongs to. */
  ownerId: string;
}

/** Whether a port's visibility, or a role, lets somebody in (design: environments, Who may). */
export function mayReach({ role, visibility, is_member_of_org: isOfOrg, was_removed: wasRemoved }: Standing): boolean {
  if (role !== null && isAtLeast(role, 'developer')) return true;
  if (visibility === 'public') return true;
  // Every account, and not who was shown the door.
  if (visibility === 'authenticated') return role !== null || !wasRemoved;
  return visibility === 'org' && (role !== null || isOfOrg);
}

/** Throws 404 for an environment that the caller does not see, 403 for what its role does not reach, 409 without a machine. */
export async function checkReach(db: Db, wanted: Wanted): Promise<Reach> {
  const [standing] = await standingsOf(db, [wanted]);
  if (!standing) throw notFound('environment');
  const { role, visibility, linux_username: linuxUser, owner_id: ownerId } = standing;
  if (mayReach(standing)) {
    checkServed(standing);
    return { role, linuxUser: linuxUser ?? undefined, isPublished: visibility !== null, ownerId };
  }
  if (role === null) throw notFound('environment');
  const what = wanted.port === null ? 'a terminal' : 'a port that is not published to viewers';
  throw new ApiError('forbidden', `${what} needs the role developer in this environment; yours is ${role}`);
}

/** Throws 409 for an environment that no machine serves. */
export function checkServed(row: Pick<Standing, 'state'>): void {
  if (isServed(row)) return;
  if (environmentStatesTable.isFinal(row.state))
    throw new ApiError('daemon_offline', 'this environment is destroyed: no machine serves it any more');
  throw new ApiError('daemon_offline', 'no machine serves this environment; enrol one: svc host enroll <token>');
}

/** Which of them may still, in their order: those who are attached are looked at again and again. */
export async function mayStillReach(db: Db, wanted: readonly Wanted[]): Promise<boolean[]> {
  const standings = await standingsOf(db, wanted);
  return standings.map((standing, at) => {
    if (standing === undefined || !isServed(standing) || !mayReach(standing)) return false;
    return standing.visibility !== null || wanted[at]?.isPublished !== true;
  });
}
