import type { ChangeRecord } from '@svc/contract';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { instantOf } from '../../kernel/db/instant.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Recorder } from '../../kernel/streams/feed.ts';
import { rowsInOthers, takeBudget } from '../../kernel/share/budgets.ts';
import type { EnvironmentRow, EventRow } from './environments.rows.ts';
import { lockEnvironment } from './environments.sql.ts';
import { dropUntold, dueUntold, putUntold } from './environments.untold.sql.ts';
import { toEnvironment } from './environments.view.ts';
import { memberIds } from './people/members.sql.ts';
import { writeProvisioned } from './people/users.sql.ts';

const topic = 'environments';

type Teller = Pick<Kernel, 'clock'> & Recorder;

/**
 * Tells all members of an environment what happened to it, as changes of the feed (design: feed). Ports, members and secrets are
 * parts of it: a change of one is an update of the environment. Destroyed, it is on nobody's list any more. Rows of others than
 * `by` are paid from the budget of `by`, or of the environment's account where nobody did it; past it they hear of it later, once,
 * however often it changed meanwhile. Who comes, goes or loses it hears of that at once.
 */
export async function tellMembers(
  { feed, clock }: Teller,
  tx: Db,
  row: EnvironmentRow,
  { kind, payload }: Pick<EventRow, 'kind' | 'payload'>,
  by: string | null,
): Promise<void> {
  const { id } = row;
  const members = await memberIds(tx, id);
  const left = kind === 'member_removed' ? String(payload['user_id']) : undefined;
  const gone = row.state === 'destroyed' ? members : left === undefined ? [] : [left];
  const added = kind === 'member_added' ? String(payload['user_id']) : undefined;
  const isNewTo = (accountId: string): boolean => kind === 'created' || accountId === added;
  const payer = by ?? row.account_id;
  const others = members.filter((accountId) => accountId !== payer && !isNewTo(accountId)).length;
  const isPaid = gone === members || others === 0 || (await takeBudget(tx, clock, rowsInOthers, payer, others));
  if (!isPaid) await putUntold(tx, clock, id, payer);
  else if (others > 0) await dropUntold(tx, id);
  const told = gone === members ? [] : members.filter((one) => isPaid || one === payer || isNewTo(one));
  const record: ChangeRecord<'environments'> = toEnvironment(row);
  await feed.record(tx, [
    ...told.map((accountId) => {
      const op = isNewTo(accountId) ? ('created' as const) : ('updated' as const);
      return { accountId, topic, op, id, record };
    }),
    ...gone.map((accountId) => ({ accountId, topic, op: 'deleted' as const, id })),
  ]);
}

/** Tells members what waited for the budget of whoever changed it. */
export async function tellUntold(kernel: Teller & Pick<Kernel, 'background'>): Promise<void> {
  const { background, clock } = kernel;
  for (const { environment_id: id, account_id: by } of await dueUntold(background, clock)) {
    await inTransaction(background, async (tx) => {
      // First: whoever changes it has it, and may write here next.
      const row = await lockEnvironment(tx, id, { isPatient: false });
      if (!row) return;
      // It is put there again where it is still unpaid; nobody may be left to hear of it.
      await dropUntold(tx, id);
      if (row.state === 'destroyed') return;
      await tellMembers(kernel, tx, row, { kind: 'updated', payload: {} }, by);
    });
  }
}

/** Keeps which Linux users the machine of an environment has, and tells its members where that is new. */
export async function provisioned(
  kernel: Teller & Pick<Kernel, 'sql'>,
  environmentId: string,
  there: Parameters<typeof writeProvisioned>[3],
): Promise<void> {
  const { sql, clock } = kernel;
  await inTransaction(sql, async (tx) => {
    const row = await lockEnvironment(tx, environmentId);
    if (!row || !(await writeProvisioned(tx, instantOf(clock.now()).iso, environmentId, there))) return;
    await tellMembers(kernel, tx, row, { kind: 'provisioned', payload: {} }, null);
  });
}
