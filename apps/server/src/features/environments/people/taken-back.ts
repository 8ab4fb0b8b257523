import type { Db } from '../../../kernel/db/db.ts';
import { readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { TakesBack } from '../../../kernel/records/let-in.ts';
import { findEmail } from '../../accounts/index.ts';
import { isAtLeast } from '../environments.access.ts';
import type { EnvironmentRole, EnvironmentRow, MemberRow, PortRow } from '../environments.rows.ts';
import { lockEnvironment, lockEnvironments, passOn } from '../environments.sql.ts';
import { environmentStatesTable } from '../environments.states.ts';
import type { Doer, Environments } from '../environments.store.ts';
import { changeInvitedRole, dropSent, invitationsOf, withdrawInvitation } from './invitations.sql.ts';
import { join } from './members.ts';
import { changeRole, deleteMember, dropSshKey, membersOf } from './members.sql.ts';
import { isWider } from './ports.ts';
import { deletePort, portsOf, putPort } from './ports.sql.ts';

type Taken = Parameters<NonNullable<TakesBack['member']>>[1];

const doerOf = ({ accountId, by }: Taken): Doer => ({ accountId, kind: 'user', by });

/** An environment that is there still, locked. */
async function held(tx: Db, id = ''): Promise<EnvironmentRow | undefined> {
  const row = await lockEnvironment(tx, id);
  return row && !environmentStatesTable.isFinal(row.state) ? row : undefined;
}

/** Somebody who was invited and has not answered. */
const invitedOf = async (tx: Db, id: string, accountId: string | undefined) =>
  (await invitationsOf(tx, id)).find(({ account_id: of }) => of === accountId);

/** A member who gets less. Where nobody else would be left who owns the environment, whose app let them in owns it again. */
async function lessened(
  tx: Db,
  at: string,
  row: EnvironmentRow,
  { accountId, ids: [, userId], before }: Taken,
): Promise<MemberRow | undefined> {
  const all = await membersOf(tx, row.id);
  const member = all.find(({ account_id: of }) => of === userId);
  if (!member || userId === accountId) return undefined;
  if (before !== undefined && isAtLeast(before as EnvironmentRole, member.role)) return undefined;
  const owners = all.filter(({ role }) => role === 'owner').length;
  if (member.role !== 'owner' || owners > 1) return member;
  if (all.some(({ account_id: of }) => of === accountId)) await changeRole(tx, row.id, accountId, 'owner');
  else await join(tx, at, row, { accountId, email: (await findEmail(tx, accountId)) ?? '', role: 'owner' });
  return member;
}

/** Takes back whom an app let into environments, and what it opened there for others. */
export const environmentsTakeBack = (kernel: Pick<Kernel, 'clock'>, environments: Environments): TakesBack => ({
  ...people(kernel, environments),
  ...opened(kernel, environments),
  async lock(tx, all) {
    const ids = all.flatMap(({ kind, ids: [id] }) => (inEnvironments.has(kind) && id !== undefined ? [id] : []));
    await lockEnvironments(tx, [...new Set(ids)]);
  },
});

const inEnvironments: ReadonlySet<string> = new Set(['member', 'role', 'port', 'ssh_key']);

/** Whom it let in. */
const people = ({ clock }: Pick<Kernel, 'clock'>, environments: Environments): TakesBack => ({
  async member(tx, taken) {
    const row = await held(tx, taken.ids[0]);
    const invited = row && (await invitedOf(tx, row.id, taken.ids[1]));
    if (invited) {
      await withdrawInvitation(tx, clock, row.id, invited.account_id);
      const payload = { user_id: invited.account_id, role: invited.role };
      return environments.tell(tx, row, doerOf(taken), { kind: 'invitation_withdrawn', payload });
    }
    const member = row && (await lessened(tx, (await readNow(tx, clock)).iso, row, taken));
    if (!member) return;
    const { account_id: userId, role } = member;
    await deleteMember(tx, row.id, userId);
    await dropSent(tx, userId, row.id);
    if (userId === row.account_id) await passOn(tx, userId, row.id);
    const payload = { user_id: userId, role };
    await environments.tell(tx, row, doerOf(taken), { kind: 'member_removed', payload });
  },
  async role(tx, taken) {
    const row = await held(tx, taken.ids[0]);
    const before = taken.before as EnvironmentRole | undefined;
    if (!row || before === undefined) return;
    const invited = await invitedOf(tx, row.id, taken.ids[1]);
    if (invited && !isAtLeast(before, invited.role)) {
      await changeInvitedRole(tx, row.id, invited.account_id, before);
      const payload = { user_id: invited.account_id, from: invited.role, to: before };
      return environments.tell(tx, row, doerOf(taken), { kind: 'member_changed', payload });
    }
    const member = await lessened(tx, (await readNow(tx, clock)).iso, row, taken);
    if (!member) return;
    const { account_id: userId, role } = member;
    await changeRole(tx, row.id, userId, before);
    await dropSent(tx, userId, row.id);
    if (userId === row.account_id) await passOn(tx, userId, row.id);
    const payload = { user_id: userId, from: role, to: before };
    await environments.tell(tx, row, doerOf(taken), { kind: 'member_changed', payload });
  },
});

/** What it opened there for others. */
const opened = ({ clock }: Pick<Kernel, 'clock'>, environments: Environments): TakesBack => ({
  async port(tx, taken) {
    const [id, text] = taken.ids;
    const row = await held(tx, id);
    const port = Number(text);
    const known = row && (await portsOf(tx, row.id)).find((one) => one.port === port);
    if (!known) return;
    const { label, protocol, opened_by } = known;
    const visibility = taken.before as PortRow['visibility'] | undefined;
    if (visibility !== undefined && !isWider(known.visibility, visibility)) return;
    if (visibility === undefined) await deletePort(tx, row.id, port);
    else {
      const one = { environment_id: row.id, port, protocol, label, visibility, opened_by };
      await putPort(tx, (await readNow(tx, clock)).iso, one);
    }
    const event =
      visibility === undefined
        ? { kind: 'port_removed', payload: { port, visibility: known.visibility } }
        : { kind: 'port_published', payload: { port, visibility, label } };
    await environments.tell(tx, row, doerOf(taken), event);
  },
  async ssh_key(tx, taken) {
    const [id, userId = ''] = taken.ids;
    const row = await held(tx, id);
    if (!row || !(await dropSshKey(tx, row.id, userId))) return;
    await environments.tell(tx, row, doerOf(taken), { kind: 'ssh_key_removed', payload: { user_id: userId } });
  },
});
