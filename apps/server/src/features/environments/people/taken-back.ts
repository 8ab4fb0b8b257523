import type { Db, Time } from '../../../kernel/db/db.ts';
import { readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { TakesBack } from '../../../kernel/records/let-in.ts';
import { findEmail } from '../../accounts/index.ts';
import { isAtLeast } from '../environments.access.ts';
import { unaskedNote } from './lost.ts';
import { tellRemoved, type Teller } from './notify.ts';
import type { EnvironmentRole, EnvironmentRow, MemberRow, PortRow } from '../environments.rows.ts';
import { lockEnvironment, lockEnvironments } from '../environments.sql.ts';
import { environmentStatesTable } from '../environments.states.ts';
import type { Doer, Environments } from '../environments.store.ts';
import { changeInvitedRole, dropSent, invitationsOf, withdrawInvitation } from './invitations.sql.ts';
import { comeBack, isAgreedOwner } from './members.ts';
import { changeRole, deleteMember, dropSshKey, membersOf, noteRemoved } from './members.sql.ts';
import { passOnTold } from './pass-on.ts';
import { closePortsOf, isWider } from './ports.ts';
import { deletePort, portsOf, putPort } from './ports.sql.ts';

type Taken = Parameters<NonNullable<TakesBack['member']>>[1];

type Parts = Teller & Pick<Kernel, 'gateways'>;

const doerOf = ({ accountId, by }: Taken): Doer => ({ accountId, kind: 'user', by });

/** An environment that is there still, locked. */
async function held(tx: Db, id = ''): Promise<EnvironmentRow | undefined> {
  const row = await lockEnvironment(tx, id);
  return row && !environmentStatesTable.isFinal(row.state) ? row : undefined;
}

/** Somebody who was invited and has not answered, as far as the environment sees. */
const invitedOf = async (tx: Db, time: Time, id: string, accountId: string | undefined) =>
  (await invitationsOf(tx, time, id)).find(({ account_id: of }) => of === accountId);

/** A member who gets less; undefined where nobody else would be left who owns the environment. */
async function lessened(
  tx: Db,
  row: EnvironmentRow,
  { ids: [, userId], before }: Taken,
): Promise<MemberRow | undefined> {
  const all = await membersOf(tx, row.id);
  const member = all.find(({ account_id: of }) => of === userId);
  if (!member || (before !== undefined && isAtLeast(before as EnvironmentRole, member.role))) return undefined;
  return isAgreedOwner(member) && all.filter(isAgreedOwner).length === 1 ? undefined : member;
}

/** Takes back whom an app let into environments, and what it opened there for others. */
export const environmentsTakeBack = (kernel: Parts, environments: Environments): TakesBack => ({
  ...people(kernel, environments),
  ...opened(kernel, environments),
  async lock(tx, all) {
    const ids = all.flatMap(({ kind, ids: [id] }) => (inEnvironments.has(kind) && id !== undefined ? [id] : []));
    await lockEnvironments(tx, [...new Set(ids)]);
  },
});

const inEnvironments: ReadonlySet<string> = new Set(['member', 'role', 'port', 'ssh_key']);

/** Whom it let in. */
const people = (kernel: Parts, environments: Environments): TakesBack => ({
  async member(tx, taken) {
    const row = await held(tx, taken.ids[0]);
    const invited = row && (await invitedOf(tx, kernel.clock, row.id, taken.ids[1]));
    if (invited) {
      await withdrawInvitation(tx, kernel.clock, row.id, invited.account_id);
      const payload = { user_id: invited.account_id, role: invited.role };
      return environments.tell(tx, row, doerOf(taken), { kind: 'invitation_withdrawn', payload });
    }
    const member = row && taken.ids[1] !== taken.accountId && (await lessened(tx, row, taken));
    if (!member) return;
    const { account_id: userId, role } = member;
    await deleteMember(tx, row.id, userId);
    const { iso: at } = await readNow(tx, kernel.clock);
    await noteRemoved(tx, at, row.id, userId);
    await tellRemoved(kernel, tx, row, { accountId: userId, by: taken.accountId, at });
    await dropSent(tx, userId, row.id);
    if (userId === row.account_id) await passOnTold(kernel, tx, userId, row);
    const payload = { user_id: userId, role };
    await closePortsOf(tx, environments, row, { accountId: userId, role: null, doer: doerOf(taken) });
    await environments.tell(tx, row, doerOf(taken), { kind: 'member_removed', payload });
  },
  async role(tx, taken) {
    const row = await held(tx, taken.ids[0]);
    const before = taken.before as EnvironmentRole | undefined;
    if (!row || before === undefined) return;
    if (taken.ids[1] === taken.accountId) return lost(kernel, environments)(tx, row, taken, before);
    const invited = await invitedOf(tx, kernel.clock, row.id, taken.ids[1]);
    if (invited && !isAtLeast(before, invited.role)) {
      await changeInvitedRole(tx, row.id, invited.account_id, before);
      const payload = { user_id: invited.account_id, from: invited.role, to: before };
      return environments.tell(tx, row, doerOf(taken), { kind: 'member_changed', payload });
    }
    const member = await lessened(tx, row, taken);
    if (!member) return;
    const { account_id: userId, role } = member;
    await changeRole(tx, row.id, userId, before);
    await dropSent(tx, userId, row.id);
    if (userId === row.account_id) await passOnTold(kernel, tx, userId, row);
    await closePortsOf(tx, environments, row, { accountId: userId, role: before, doer: doerOf(taken) });
    const payload = { user_id: userId, from: role, to: before };
    await environments.tell(tx, row, doerOf(taken), { kind: 'member_changed', payload });
  },
});

/** What an account lost by the app, or to whom it let in. */
const lost =
  ({ clock }: Pick<Kernel, 'clock'>, environments: Environments) =>
  async (tx: Db, row: EnvironmentRow, taken: Taken, before: EnvironmentRole): Promise<void> => {
    const { accountId } = taken;
    const isUnasked = before === 'owner' && taken.beforeNote === unaskedNote;
    const member = (await membersOf(tx, row.id)).find(({ account_id: of }) => of === accountId);
    if (member && isAtLeast(member.role, before)) return;
    if (member) {
      await changeRole(tx, row.id, accountId, before, isUnasked);
      const payload = { user_id: accountId, from: member.role, to: before };
      return environments.tell(tx, row, doerOf(taken), { kind: 'member_changed', payload });
    }
    const email = (await findEmail(tx, accountId)) ?? '';
    await comeBack(tx, clock, row, { accountId, email, role: before, isUnasked });
    const payload = { user_id: accountId, role: before };
    await environments.tell(tx, row, doerOf(taken), { kind: 'member_added', payload });
  };

/** What it opened there for others. */
const opened = ({ clock }: Pick<Kernel, 'clock'>, environments: Environments): TakesBack => ({
  async port(tx, taken) {
    const [id, text] = taken.ids;
    const row = await held(tx, id);
    const port = Number(text);
    const known = row && (await portsOf(tx, row.id)).find((one) => one.port === port);
    if (!known) return;
    const { label, protocol, opened_by, published_by } = known;
    const visibility = taken.before as PortRow['visibility'] | undefined;
    if (visibility !== undefined && !isWider(known.visibility, visibility)) return;
    if (visibility === undefined) await deletePort(tx, row.id, port);
    else {
      const one = { environment_id: row.id, port, protocol, label, visibility, opened_by, published_by };
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
