import type { Words } from '@svc/words';
import type { Db } from '../../../kernel/db/db.ts';
import { readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Recorder } from '../../../kernel/streams/feed.ts';
import { type Budget, takeBudget } from '../../../kernel/share/budgets.ts';
import { findEmail } from '../../accounts/index.ts';
import type { NewNotice, NoticeText } from '../../notifications/index.ts';
import { deepLink, type EndOfCause, notifyMany, resolveNotifications, wasTold } from '../../notifications/index.ts';
import type { EnvironmentHooks } from '../environments.hooks.ts';
import type { EnvironmentRole, EnvironmentRow } from '../environments.rows.ts';
import { stranger } from '../environments.view.ts';
import { isInvitedBy } from './invitations.sql.ts';
import { isAgreedOwner } from './members.ts';
import { memberIds, membersOf } from './members.sql.ts';

/** What it takes to tell somebody something. */
export type Teller = Pick<Kernel, 'bus' | 'clock' | 'config'> & Recorder;

type Told = Pick<NewNotice, 'type' | 'says' | 'severity' | 'dedupeKey' | 'isOfOthers' | 'cause'>;
type Says = (words: Words['alerts']['environments']) => NoticeText;
const inWords =
  (says: Says): NewNotice['says'] =>
  ({ environments }) =>
    says(environments);

/** Tells those who agreed to own an environment, in the transaction in which it happened. */
async function tellOwners(kernel: Teller, tx: Db, row: EnvironmentRow, told: Told): Promise<void> {
  const owners = (await membersOf(tx, row.id)).filter(isAgreedOwner);
  await tell(
    kernel,
    tx,
    row,
    owners.map(({ account_id: id }) => id),
    told,
  );
}

/** What somebody is told whom another one gave a role: once a day of each, in words that nobody chose. */
interface Given {
  accountId: string;
  role: EnvironmentRole;
  /** RFC 3339. */
  at: string;
  /** Account of who gave it. */
  by: string;
}

/** However many invite somebody: further ones are on the page alone. */
const invitationsTold: Budget = { name: 'invitations_told', most: 20, perMinute: 20 / 1_440 };

const dayOf = ({ by, at }: Pick<Given, 'by' | 'at'>): string => `${by}:${at.slice(0, 10)}`;

/** Tells somebody that an environment is open to them from now on. */
export async function tellMember(kernel: Teller, tx: Db, row: EnvironmentRow, given: Given): Promise<void> {
  const who = await nameOf(tx, given);
  await tell(kernel, tx, row, [given.accountId], {
    type: 'environment.member_added',
    says: inWords((words) => ({ title: words.added(who, words.roles[given.role]), body: words.addedText(row.slug) })),
    severity: 'info',
    isOfOthers: true,
    dedupeKey: `environment.member_added:${dayOf(given)}`,
  });
}

/**
 * Tells the members of an environment who owns it since its only owner is gone, and the heir that it is theirs.
 * `losesMachine`: its machine served with a key of who is gone.
 */
export async function tellHandedOver(
  kernel: Teller,
  tx: Db,
  row: EnvironmentRow,
  { heir, from, to, losesMachine }: { heir: string; from: string; to: string; losesMachine: boolean },
): Promise<void> {
  const others = (await memberIds(tx, row.id)).filter((id) => id !== heir && id !== from);
  const told = { type: 'environment.handed_over', dedupeKey: `environment.handed_over:${row.id}:${from}` } as const;
  await tell(kernel, tx, row, [heir], {
    ...told,
    says: inWords((words) => ({
      title: words.inherited(row.name),
      body: [words.inheritedText(row.slug), ...(losesMachine ? [words.inheritedMachine] : [])].join(' '),
    })),
    severity: 'warning',
  });
  await tell(kernel, tx, row, others, {
    ...told,
    says: inWords((words) => ({ title: words.handedOver(row.name, stranger(to)), body: words.handedOverText })),
    severity: 'info',
  });
}

/** Tells somebody who had agreed to own an environment that it is theirs, since who had it is no owner any more. */
export async function tellPassedOn(
  kernel: Teller,
  tx: Db,
  row: EnvironmentRow,
  { heir, from }: { heir: string; from: string },
): Promise<void> {
  const { iso } = await readNow(tx, kernel.clock);
  await tell(kernel, tx, row, [heir], {
    type: 'environment.handed_over',
    says: inWords((words) => ({ title: words.inherited(row.slug), body: words.passedOnText(row.slug) })),
    severity: 'warning',
    isOfOthers: true,
    dedupeKey: `environment.handed_over:${row.id}:${from}:${iso.slice(0, 10)}`,
  });
}

/** However many take somebody out; apart from invitations, which must not use it up. */
const removalsTold: Budget = { name: 'removals_told', most: 20, perMinute: 20 / 1_440 };

/** Tells somebody that another one took them out of an environment, once a day of each environment. */
export async function tellRemoved(
  kernel: Teller,
  tx: Db,
  row: EnvironmentRow,
  given: Omit<Given, 'role'>,
): Promise<void> {
  const { accountId, at } = given;
  const dedupeKey = `environment.member_removed:${row.id}:${at.slice(0, 10)}`;
  if (await wasTold(tx, accountId, dedupeKey)) return;
  if (!(await takeBudget(tx, kernel.clock, removalsTold, accountId))) return;
  const who = await nameOf(tx, given);
  const wasTheirs = row.account_id === accountId;
  await notifyMany(kernel, tx, [
    {
      accountId,
      type: 'environment.member_removed',
      says: inWords((words) => ({
        title: words.removed(who),
        body: wasTheirs ? words.removedOwnerText(row.slug) : words.removedText(row.slug),
      })),
      severity: wasTheirs ? 'warning' : 'info',
      isOfOthers: true,
      url: deepLink(kernel.config, 'environments'),
      data: { environment_id: row.id },
      dedupeKey,
    },
  ]);
}

/** Tells a member that they were made an owner, and how they agree to it. */
export async function tellAsked(
  kernel: Teller,
  tx: Db,
  row: EnvironmentRow,
  given: Omit<Given, 'role'>,
): Promise<void> {
  const dedupeKey = `environment.owner_asked:${dayOf(given)}`;
  if (await wasTold(tx, given.accountId, dedupeKey)) return;
  if (!(await takeBudget(tx, kernel.clock, invitationsTold, given.accountId))) return;
  const who = await nameOf(tx, given);
  await tell(kernel, tx, row, [given.accountId], {
    type: 'environment.owner_asked',
    says: inWords((words) => ({ title: words.asked(who), body: words.askedText(row.slug) })),
    severity: 'info',
    isOfOthers: true,
    dedupeKey,
  });
}

/** Tells somebody that they are invited. */
export async function tellInvited(
  kernel: Teller,
  tx: Db,
  { raisedIn, ...given }: Given & { raisedIn?: string },
): Promise<void> {
  const dedupeKey = `environment.invited:${dayOf(given)}${raisedIn === undefined ? '' : `:${given.role}:${raisedIn}`}`;
  if (await wasTold(tx, given.accountId, dedupeKey)) return;
  if (!(await takeBudget(tx, kernel.clock, invitationsTold, given.accountId))) return;
  const who = await nameOf(tx, given);
  await notifyMany(kernel, tx, [
    {
      accountId: given.accountId,
      type: 'environment.invited',
      says: inWords((words) => ({ title: words.invited(who), body: words.invitedText(words.roles[given.role]) })),
      severity: 'info',
      isOfOthers: true,
      url: deepLink(kernel.config, 'environments'),
      data: { invited_by: given.by },
      dedupeKey,
      cause: invitedCause(given.by),
    },
  ]);
}

const invitedCause = (by: string): string => `environment.invited:${by}`;

/** Resolves what somebody was told of invitations by another one, once none of them waits any more. */
export async function resolveInvited(
  kernel: Teller,
  tx: Db,
  { accountId, by, resolution }: Pick<EndOfCause, 'accountId' | 'resolution'> & { by: string | null },
): Promise<void> {
  if (by === null || (await isInvitedBy(tx, accountId, by))) return;
  await resolveNotifications(kernel, tx, [{ accountId, cause: invitedCause(by), resolution }]);
}

const nameOf = async (tx: Db, { by }: Pick<Given, 'by'>): Promise<string> =>
  stranger((await findEmail(tx, by)) ?? 'somebody');

/** Tells its owners what becomes of a machine without them. */
export function noticesOf(kernel: Teller & Pick<Kernel, 'clock'>): EnvironmentHooks {
  const told = async (
    tx: Db,
    row: EnvironmentRow,
    what: Omit<Told, 'dedupeKey' | 'type' | 'says'> & { type: string; of?: string; says: Says },
  ) => {
    const { of = (await readNow(tx, kernel.clock)).iso, type, says, ...rest } = what;
    await tellOwners(kernel, tx, row, {
      ...rest,
      says: inWords(says),
      type: `environment.${type}`,
      dedupeKey: `environment.${type}:${row.id}:${of}`,
    });
  };
  return {
    failed: (tx, row, { reason }) =>
      told(tx, row, {
        type: 'failed',
        cause: troubleCause(row.id),
        says: (words) => ({ title: words.failed(row.name), body: reason }),
        severity: 'critical',
      }),
    budget: (tx, row, { percent, spentMicroEur, budgetMicroEur, month }) =>
      told(tx, row, {
        type: 'budget',
        of: `${month}:${percent}`,
        says: (words) => ({
          title: percent === 100 ? words.budgetUsed(row.name) : words.budget(row.name, String(percent)),
          body: words.budgetText(euro(spentMicroEur), euro(budgetMicroEur)),
        }),
        severity: percent === 100 ? 'critical' : 'warning',
      }),
    stoppedIdle: (tx, row, { idleMinutes }) =>
      told(tx, row, {
        type: 'stopped_idle',
        cause: troubleCause(row.id),
        says: (words) => ({ title: words.idle(row.name), body: words.idleText(`${idleMinutes} min`, row.slug) }),
        severity: 'info',
      }),
    over: async (tx, row, { isGone }) => {
      const cause = troubleCause(row.id);
      const resolution = isGone ? 'removed' : 'started';
      const ends = (await memberIds(tx, row.id)).map((accountId) => ({ accountId, cause, resolution }) as const);
      await resolveNotifications(kernel, tx, ends);
    },
  };
}

const troubleCause = (id: string): string => `environment:${id}`;

const euro = (micro: number): string => `${(micro / 1_000_000).toFixed(2)} €`;

function tell(kernel: Teller, tx: Db, { id }: EnvironmentRow, accounts: readonly string[], told: Told): Promise<void> {
  const url = deepLink(kernel.config, 'environments', id);
  const data = { environment_id: id };
  return notifyMany(
    kernel,
    tx,
    accounts.map((accountId) => ({ accountId, url, data, ...told })),
  );
}
