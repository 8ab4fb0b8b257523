import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { noteAllGone } from '../../../kernel/records/let-in.ts';
import type { EnvironmentRole, MemberRow } from '../environments.rows.ts';

/** Whoever declined is left alone by that environment for so long; what nobody answered ends then. */
const quietDays = 30;
/** Invitations that wait for one person. Past it the oldest of whoever sent most of them goes, so no newcomer is refused. */
const mostWaiting = 100;

/** An invitation as the environment has it, and whether its person has declined. */
type InvitationRow = MemberRow & { invited_by: string | null; is_declined: boolean };

/** An invitation, as the note of an app's guests names it. */
interface Sent {
  environment_id: string;
  account_id: string;
}

/** Notes that nobody is invited by these any more. */
const noteUnsent = (db: Db, sent: readonly Sent[]): Promise<void> =>
  noteAllGone(
    db,
    ['member', 'role'],
    sent.map(({ environment_id: id, account_id: accountId }) => `${id}/${accountId}`),
  );

/** Invitations as the environment sees them, in their order: a declined one looks as one that waits, and ends as one does. */
export async function invitationsOf(db: Db, time: Time, environmentId: string): Promise<InvitationRow[]> {
  return db<InvitationRow[]>`
    select i.environment_id, i.account_id, i.role, i.linux_username, i.place, false as has_key, null as provisioned_at,
      i.created_at, null as accepted_at, false as is_unasked, a.email, a.name, i.invited_by, i.declined_at is not null as is_declined
    from environments.invitations i join accounts.people_view a on a.id = i.account_id
    where i.environment_id = ${environmentId} and i.withdrawn_at is null
      and i.created_at >= ${nowOf(db, time)} - make_interval(days => ${quietDays})
    order by i.place, i.account_id`;
}

/** Whether two accounts are of one organisation: whoever is there has agreed to work with the others. */
export async function areColleagues(db: Db, one: string, other: string): Promise<boolean> {
  const rows = await db`
    select from orgs.members_view a join orgs.members_view b on b.org_id = a.org_id
    where a.account_id = ${one} and b.account_id = ${other} limit 1`;
  return rows.length > 0;
}

/** Invites somebody; false when they declined a while ago, and are to hear nothing of it. */
export async function insertInvitation(
  db: Db,
  now: string,
  one: Pick<MemberRow, 'environment_id' | 'account_id' | 'role' | 'linux_username' | 'place'> & { invited_by: string },
): Promise<boolean> {
  const [row] = await db<{ is_told: boolean }[]>`
    insert into environments.invitations ${db({ ...one, created_at: now })}
    on conflict (environment_id, account_id) do update set
      invited_by = excluded.invited_by, role = excluded.role, linux_username = excluded.linux_username,
      place = excluded.place, created_at = excluded.created_at, withdrawn_at = null,
      declined_at = case when invitations.declined_at > excluded.created_at - make_interval(days => ${quietDays})
        then invitations.declined_at end
    returning declined_at is null as is_told`;
  return row?.is_told === true;
}

/** Drops what waits for a person past its bound: the oldest of whoever sent most. What is being answered now is passed over. */
export async function trimInvitations(db: Db, accountId: string): Promise<void> {
  const gone = await db<Sent[]>`
    delete from environments.invitations where (environment_id, account_id) in (
      select i.environment_id, i.account_id from environments.invitations i
      where i.account_id = ${accountId} and (i.environment_id, i.account_id) in (
        select r.environment_id, r.account_id from (
          select w.*, row_number() over (partition by w.invited_by order by w.created_at desc, w.environment_id) as nth
          from environments.invitations w where w.account_id = ${accountId} and w.declined_at is null) r
        order by r.nth, r.created_at desc offset ${mostWaiting})
      for update of i skip locked)
    returning environment_id, account_id`;
  await noteUnsent(db, gone);
}

/** An invitation as its person sees it. */
export interface WaitingInvitation {
  account_id: string;
  environment_id: string;
  environment_name: string;
  role: EnvironmentRole;
  invited_by: string;
  email: string;
  created_at: string;
}

/** What waits for a person, newest first: not of who is suspended or leaves, whose invitation nobody can accept. */
export async function waitingOf(db: Db, accountId: string): Promise<WaitingInvitation[]> {
  return db<WaitingInvitation[]>`
    select i.account_id, i.environment_id, e.name as environment_name, i.role, i.invited_by, a.email, i.created_at
    from environments.invitations i join environments.environments e on e.id = i.environment_id
    join accounts.people_view a on a.id = i.invited_by
    join accounts.standing_view s on s.id = i.invited_by and not s.suspended and not s.deleting
    where i.account_id = ${accountId} and i.declined_at is null and e.state <> 'destroyed'
    order by i.created_at desc, i.environment_id limit ${mostWaiting}`;
}

/** Takes an invitation that its person has not declined; undefined where there is none. */
export async function takeInvitation(
  db: Db,
  environmentId: string,
  accountId: string,
): Promise<(Pick<MemberRow, 'role' | 'linux_username' | 'place'> & { invited_by: string | null }) | undefined> {
  const [row] = await db<(Pick<MemberRow, 'role' | 'linux_username' | 'place'> & { invited_by: string | null })[]>`
    delete from environments.invitations
    where environment_id = ${environmentId} and account_id = ${accountId} and declined_at is null
    returning role, linux_username, place, invited_by`;
  return row;
}

/** Whether somebody's invitation waits for their answer, which they have not given. */
export async function isWaiting(db: Db, environmentId: string, accountId: string): Promise<boolean> {
  const rows = await db`
    select from environments.invitations
    where environment_id = ${environmentId} and account_id = ${accountId} and declined_at is null`;
  return rows.length > 0;
}

/** Whether an invitation of somebody by another one waits. */
export async function isInvitedBy(db: Db, accountId: string, by: string): Promise<boolean> {
  const rows = await db`
    select from environments.invitations
    where account_id = ${accountId} and invited_by = ${by} and declined_at is null limit 1`;
  return rows.length > 0;
}

/** Declines an invitation, and answers by whom it was; undefined where none waits. */
export async function declineInvitation(
  db: Db,
  time: Time,
  environmentId: string,
  accountId: string,
): Promise<{ invited_by: string | null } | undefined> {
  const [row] = await db<{ invited_by: string | null }[]>`
    update environments.invitations set declined_at = ${nowOf(db, time)}
    where environment_id = ${environmentId} and account_id = ${accountId} and declined_at is null
    returning invited_by`;
  return row;
}

/** Changes the role that somebody is invited for; `by`: by whose word they come from now on, if not by the same. */
export async function changeInvitedRole(
  db: Db,
  environmentId: string,
  accountId: string,
  role: EnvironmentRole,
  by: string | null = null,
): Promise<void> {
  await db`
    update environments.invitations set role = ${role}, invited_by = coalesce(${by}, invited_by)
    where environment_id = ${environmentId} and account_id = ${accountId}`;
}

/** Takes an invitation back, and answers by whom one was that waited. That its person declined stays known. */
export async function withdrawInvitation(
  db: Db,
  time: Time,
  environmentId: string,
  accountId: string,
): Promise<{ invited_by: string | null } | undefined> {
  await db`
    update environments.invitations set withdrawn_at = ${nowOf(db, time)}
    where environment_id = ${environmentId} and account_id = ${accountId} and declined_at is not null`;
  const [row] = await db<{ invited_by: string | null }[]>`
    delete from environments.invitations
    where environment_id = ${environmentId} and account_id = ${accountId} and declined_at is null returning invited_by`;
  return row;
}

/** Drops an invitation with its answer, for somebody who is a member by another right. */
export async function deleteInvitation(db: Db, environmentId: string, accountId: string): Promise<void> {
  await db`delete from environments.invitations where environment_id = ${environmentId} and account_id = ${accountId}`;
}

/** Takes back what an account sent that may invite no more, in one environment or, without one, in all; who declined stays known. */
export async function dropSent(db: Db, accountId: string, environmentId?: string): Promise<void> {
  const within = () => (environmentId === undefined ? db`` : db`and environment_id = ${environmentId}`);
  const gone = await db<Sent[]>`
    delete from environments.invitations where invited_by = ${accountId} and declined_at is null ${within()}
    returning environment_id, account_id`;
  await noteUnsent(db, gone);
  await db`update environments.invitations set invited_by = null where invited_by = ${accountId} ${within()}`;
}

/** Deletes what nobody answered, and what was declined, a month ago. */
export async function sweepInvitations(db: Db, time: Time): Promise<void> {
  // A declined one stays a while longer, and is told by nothing.
  const over = await db<Sent[]>`
    select i.environment_id, i.account_id from environments.invitations i
    where i.created_at < ${nowOf(db, time)} - make_interval(days => ${quietDays}) and not exists (
      select from environments.members m where m.environment_id = i.environment_id and m.account_id = i.account_id)`;
  await noteUnsent(db, over);
  await db`
    delete from environments.invitations
    where greatest(created_at, declined_at) < ${nowOf(db, time)} - make_interval(days => ${quietDays})`;
}

/** Whether who invited may still let somebody in: an account that is suspended, or being deleted, does nothing. */
export async function isInGoodStanding(db: Db, accountId: string): Promise<boolean> {
  const rows = await db`
    select from accounts.standing_view where id = ${accountId} and not suspended and not deleting`;
  return rows.length > 0;
}
