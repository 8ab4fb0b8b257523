import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { instantOf } from '../../kernel/db/instant.ts';
import { bySystem } from '../../kernel/records/audit.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { isAtLeast } from './environments.access.ts';
import { findServed } from './environments.machines.sql.ts';
import { lockEnvironment, noteActivity } from './environments.sql.ts';
import { isServed } from './environments.states.ts';
import type { Environments } from './environments.store.ts';

/** A daemon that says which environment it serves. */
interface Serving {
  accountId: string;
  environmentId: string;
  deviceId: string | undefined;
}

/**
 * Throws 404 when the environment takes no daemon of this account, 403 when it is served by another device. Whoever may enrol a
 * machine may serve as it: maintainers. A machine at a provider has a key of the environment's, and serves whoever leaves.
 */
export async function checkDaemon(db: Db, { accountId, environmentId, deviceId }: Serving): Promise<void> {
  const row = await findServed(db, accountId, environmentId);
  if (!row || !isServed(row)) throw notFound('environment');
  const { role } = row;
  if (!row.has_machine_key && (role === null || !isAtLeast(role, 'maintainer')))
    throw new ApiError('forbidden', `to serve an environment needs the role maintainer in it; yours is ${role}`);
  if (deviceId !== undefined && row.device_id === deviceId) return;
  throw new ApiError('forbidden', 'another machine serves this environment; enrol this one: svc host enroll <token>');
}

/** Which daemons may still serve, in their order. */
export async function mayStillServe(db: Db, all: readonly Serving[]): Promise<boolean[]> {
  return Promise.all(
    all.map((one) =>
      checkDaemon(db, one).then(
        () => true,
        (error: unknown) => {
          if (error instanceof ApiError) return false;
          throw error;
        },
      ),
    ),
  );
}

/** A daemon reported: its environment runs, and was active when it says. */
export async function daemonReported(
  { sql, clock }: Pick<Kernel, 'sql' | 'clock'>,
  environments: Environments,
  { environmentId, deviceId, activity }: { environmentId: string; deviceId: string; activity: number | null },
): Promise<void> {
  await inTransaction(sql, async (tx) => {
    const row = await lockEnvironment(tx, environmentId);
    if (!row || row.device_id !== deviceId) return;
    if (row.state === 'enrolling' || row.state === 'starting')
      await environments.move(tx, row, 'report', {}, { accountId: null, kind: 'daemon', by: bySystem });
    if (activity !== null) await noteActivity(tx, clock, environmentId, instantOf(activity).iso);
  });
}
