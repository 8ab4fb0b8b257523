import type { Actor } from '../../../kernel/base/actor.ts';
import { ApiError, notFound } from '../../../kernel/base/errors.ts';
import { spellingsOf } from '../../../kernel/base/mailboxes.ts';
import type { Db, Time } from '../../../kernel/db/db.ts';
import { readNow } from '../../../kernel/db/instant.ts';
import type { EnvironmentRole, EnvironmentRow, MemberRow } from '../environments.rows.ts';
import { checkOfApps } from '../../../kernel/mount/access.ts';
import { checkRole, isAtLeast } from '../environments.access.ts';
import { areColleagues, deleteInvitation, insertInvitation, invitationsOf } from './invitations.sql.ts';
import { insertMember, membersOf, ownsProject } from './members.sql.ts';
import { freePlace, linuxNameOf } from './names.ts';

/** Members that an environment may have. */
const mostMembers = 200;

/** Members, and after them whoever is invited: each has a place and a name. */
export async function peopleOf(db: Db, time: Time, id: string): Promise<MemberRow[]> {
  return [...(await membersOf(db, id)), ...(await invitationsOf(db, time, id))];
}

/** Throws 409 `already_member` for the address of a member, 429 `quota_exceeded` in an environment with 200 of them. */
export async function checkPlace(tx: Db, time: Time, id: string, email: string): Promise<void> {
  const before = await peopleOf(tx, time, id);
  const asked = new Set(spellingsOf(email).map((each) => each.toLowerCase()));
  const known = before.find((member) => asked.has(member.email.toLowerCase()));
  if (known) throw alreadyMember(known.email);
  if (before.length >= mostMembers) throw full();
}

const alreadyMember = (email: string): ApiError =>
  new ApiError('already_member', `${email} is a member already; change the role with PATCH`);

const full = (): ApiError =>
  new ApiError('quota_exceeded', `an environment has at most ${mostMembers} members; take one out first`);

/** Somebody who gets a role. */
interface Person {
  accountId: string;
  email: string;
  role: EnvironmentRole;
  /** An owner by the word of others alone. */
  isUnasked?: boolean;
}

type Promised = Pick<MemberRow, 'linux_username' | 'place'>;

/** Name and place of somebody new in an environment that is locked. Throws 409 `already_member`, 429 past 200. */
async function placeFor(tx: Db, time: Time, id: string, person: Person, wanted?: Promised) {
  const before = await peopleOf(tx, time, id);
  if (before.some(({ account_id: of }) => of === person.accountId)) throw alreadyMember(person.email);
  if (before.length >= mostMembers) throw full();
  return placeAmong(before, id, person, wanted);
}

/** Name and place beside the people of an environment. */
function placeAmong(before: readonly MemberRow[], id: string, person: Person, wanted?: Promised) {
  const names = new Set(before.map(({ linux_username: name }) => name));
  const places = before.map(({ place }) => place);
  // What was promised may be another's by now: a release that knew of no invitations dealt places too.
  const isFree = wanted !== undefined && !names.has(wanted.linux_username) && !places.includes(wanted.place);
  return {
    environment_id: id,
    account_id: person.accountId,
    role: person.role,
    is_unasked: person.isUnasked === true,
    ...(isFree ? wanted : { linux_username: linuxNameOf(person.email, names), place: freePlace(places) }),
  };
}

/** Adds a member to an environment that is locked: `wanted` names what an invitation promised. Throws as `invite`. */
export async function join(
  tx: Db,
  time: Time,
  { id }: Pick<EnvironmentRow, 'id'>,
  person: Person,
  wanted?: Promised,
): Promise<void> {
  const one = await placeFor(tx, time, id, person, wanted);
  await insertMember(tx, (await readNow(tx, time)).iso, one);
}

/** Makes somebody a member again who is none, whatever others sent them meanwhile, and however many there are by now. */
export async function comeBack(tx: Db, time: Time, { id }: Pick<EnvironmentRow, 'id'>, person: Person): Promise<void> {
  await deleteInvitation(tx, id, person.accountId);
  const one = placeAmong(await peopleOf(tx, time, id), id, person);
  await insertMember(tx, (await readNow(tx, time)).iso, one);
}

/**
 * Invites somebody into an environment that is locked; a colleague of one organisation is a member at once, but no
 * owner, whose costs it may become. Throws 409 `already_member`, 429 past 200. Answers what became of it; `quiet`: its
 * person declined a while ago and hears nothing.
 */
export async function invite(
  tx: Db,
  time: Time,
  row: Pick<EnvironmentRow, 'id'>,
  { by, ...person }: Person & { by: string },
): Promise<'joined' | 'invited' | 'quiet'> {
  if (person.role !== 'owner' && (await areColleagues(tx, by, person.accountId))) {
    await join(tx, time, row, person);
    return 'joined';
  }
  const { is_unasked: _, ...one } = await placeFor(tx, time, row.id, person);
  const isTold = await insertInvitation(tx, (await readNow(tx, time)).iso, { ...one, invited_by: by });
  return isTold ? 'invited' : 'quiet';
}

/** Whether an environment may be theirs: an owner who has agreed to it. */
export const isAgreedOwner = ({ role, accepted_at: at, is_unasked: isUnasked }: MemberRow): boolean =>
  role === 'owner' && at !== null && !isUnasked;

/**
 * A member of an environment that is locked, or somebody invited, and how many owners have agreed to it. Throws 404.
 */
export async function memberOf(
  tx: Db,
  time: Time,
  id: string,
  accountId: string,
): Promise<{ member: MemberRow; owners: number }> {
  const all = await peopleOf(tx, time, id);
  const member = all.find(({ account_id: of }) => of === accountId);
  if (!member) throw notFound('member');
  return { member, owners: all.filter(isAgreedOwner).length };
}

/** A developer has a terminal: an app gives nobody what it has not itself. Throws 403. */
export function checkGift(actor: Actor, role: EnvironmentRole): void {
  if (isAtLeast(role, 'developer')) checkOfApps(actor, 'environments:terminal');
}

/** Whether who has one role may give another. */
export const mayGive = (own: EnvironmentRole, role: EnvironmentRole): boolean =>
  isAtLeast(own, role === 'owner' ? 'owner' : 'maintainer');

/** Who makes, changes or removes an owner is one (design: answers, "member roles"). Throws 403. */
export function checkOwners(own: EnvironmentRole, ...roles: EnvironmentRole[]): void {
  if (roles.includes('owner')) checkRole(own, 'owner', 'to make, change or remove an owner');
}

/**
 * Who owns a project owns what others make in it, until they leave it themselves: else a guest could keep a machine in
 * it, and the sight of it, that its owner neither sees nor takes away. Throws 403 for anybody else who would end that.
 */
export async function checkProjectOwner(
  tx: Db,
  row: Pick<EnvironmentRow, 'account_id' | 'project_id'>,
  { account_id: accountId, role, accepted_at: at }: MemberRow,
  by: string,
): Promise<void> {
  if (role !== 'owner' || at === null || accountId === by || accountId === row.account_id) return;
  if (!(await ownsProject(tx, accountId, row.project_id))) return;
  throw new ApiError(
    'forbidden',
    'whoever owns the project is an owner of what others make in it, until they leave it',
  );
}

/** Throws 409 `last_owner` when nobody would be left who owns the environment. */
export function checkOwnerStays({ member, owners }: { member: MemberRow; owners: number }): void {
  if (!isAgreedOwner(member) || owners > 1) return;
  throw new ApiError(
    'last_owner',
    'this is the only owner who has agreed to be one; make somebody else an owner first, who accepts it, or destroy the environment',
  );
}
