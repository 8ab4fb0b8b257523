import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { deepLink, notifyMany } from '../notifications/index.ts';
import type { NewNotification } from '../notifications/index.ts';
import type { EnvironmentRole, EnvironmentRow } from './environments.rows.ts';
import { membersOf } from './people/members.sql.ts';

/** What it takes to tell somebody something. */
export type Teller = Pick<Kernel, 'bus' | 'clock' | 'config' | 'feed'>;

type Told = Pick<NewNotification, 'type' | 'title' | 'body' | 'severity' | 'dedupeKey'>;

/** Tells those who own an environment, in the transaction in which it happened. */
async function tellOwners(kernel: Teller, tx: Db, row: EnvironmentRow, told: Told): Promise<void> {
  const owners = (await membersOf(tx, row.id)).filter(({ role }) => role === 'owner');
  await tell(
    kernel,
    tx,
    row,
    owners.map(({ account_id: id }) => id),
    told,
  );
}

/** Tells somebody that an environment is open to them from now on. */
export function tellMember(
  kernel: Teller,
  tx: Db,
  row: EnvironmentRow,
  { accountId, role, at }: { accountId: string; role: EnvironmentRole; at: string },
): Promise<void> {
  return tell(kernel, tx, row, [accountId], {
    type: 'environment.member_added',
    title: `You are ${role} of ${row.name}`,
    body: `Reach it with: svc env terminal ${row.slug}`,
    severity: 'info',
    dedupeKey: `environment.member_added:${row.id}:${at}`,
  });
}

/** Tells its owners that a machine is given up on. */
export const tellFailed = (kernel: Teller, tx: Db, row: EnvironmentRow, at: string): Promise<void> =>
  tellOwners(kernel, tx, row, {
    type: 'environment.failed',
    title: `${row.name} has failed`,
    body: row.state_reason ?? '',
    severity: 'critical',
    dedupeKey: `environment.failed:${row.id}:${at}`,
  });

function tell(kernel: Teller, tx: Db, { id }: EnvironmentRow, accounts: readonly string[], told: Told): Promise<void> {
  const url = deepLink(kernel.config, 'environments', id);
  const data = { environment_id: id };
  return notifyMany(
    kernel,
    tx,
    accounts.map((accountId) => ({ accountId, url, data, ...told })),
  );
}
