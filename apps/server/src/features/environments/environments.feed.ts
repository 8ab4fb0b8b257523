import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { instantOf } from '../../kernel/db/instant.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { EnvironmentRow, EventRow } from './environments.rows.ts';
import { lockEnvironment } from './environments.sql.ts';
import { toEnvironment } from './environments.view.ts';
import { memberIds } from './people/members.sql.ts';
import { writeProvisioned } from './people/users.sql.ts';

const topic = 'environments';

/**
 * Tells all members of an environment what happened to it, as changes of the feed (design: feed). Ports, members and secrets are
 * parts of it: a change of one is an update of the environment. Destroyed, it is on nobody's list any more.
 */
export async function tellMembers(
  feed: Kernel['feed'],
  tx: Db,
  row: EnvironmentRow,
  { kind, payload }: Pick<EventRow, 'kind' | 'payload'>,
): Promise<void> {
  const left = kind === 'member_removed' ? String(payload['user_id']) : undefined;
  const isNewTo = (accountId: string): boolean =>
    kind === 'created' || (kind === 'member_added' && payload['user_id'] === accountId);
  const { id } = row;
  const record = toEnvironment(row);
  const changes = (await memberIds(tx, id)).map((accountId) => {
    if (row.state === 'destroyed') return { accountId, topic, op: 'deleted' as const, id };
    const op = isNewTo(accountId) ? ('created' as const) : ('updated' as const);
    return { accountId, topic, op, id, record };
  });
  await feed.record(tx, changes);
  if (left !== undefined) await feed.record(tx, [{ accountId: left, topic, op: 'deleted', id }]);
}

/** Keeps which Linux users the machine of an environment has, and tells its members where that is new. */
export async function provisioned(
  { sql, clock, feed }: Pick<Kernel, 'sql' | 'clock' | 'feed'>,
  environmentId: string,
  there: Parameters<typeof writeProvisioned>[3],
): Promise<void> {
  await inTransaction(sql, async (tx) => {
    const row = await lockEnvironment(tx, environmentId);
    if (!row || !(await writeProvisioned(tx, instantOf(clock.now()).iso, environmentId, there))) return;
    await tellMembers(feed, tx, row, { kind: 'provisioned', payload: {} });
  });
}
