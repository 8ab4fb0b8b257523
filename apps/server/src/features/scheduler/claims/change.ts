import { badRequest } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { readNow } from '../../../kernel/db/instant.ts';
import type { SchedulerParts } from '../scheduler.admit.ts';
import { type HostRow, updateHostRow } from './hosts.sql.ts';

/** What a person says of a machine; undefined: as it is, null: as if nothing was ever said. */
export interface MachineTerms {
  name?: string | null | undefined;
  tags?: string[] | null | undefined;
  paused?: boolean | undefined;
  max_parallel?: number | null | undefined;
}

/**
 * Changes a machine, and has claims look again. Undefined: the account has no such machine. Throws 400 for a change of nothing.
 */
export async function changeMachine(
  { kernel, changes }: SchedulerParts,
  db: Db,
  accountId: string,
  which: { id?: string; deviceId?: string },
  given: MachineTerms,
): Promise<HostRow | undefined> {
  const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (Object.keys(change).length === 0) throw badRequest('send name, tags, paused or max_parallel');
  const { iso: now } = await readNow(db, kernel.clock);
  const row = await updateHostRow(db, accountId, which, change, now);
  if (row) await changes.wake(db, accountId);
  return row;
}
