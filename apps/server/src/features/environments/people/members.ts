import type { Actor } from '../../../kernel/base/actor.ts';
import { ApiError, notFound } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import type { EnvironmentRole, EnvironmentRow, MemberRow } from '../environments.rows.ts';
import { checkOfApps } from '../../../kernel/mount/access.ts';
import { checkRole, isAtLeast } from '../environments.access.ts';
import { insertMember, membersOf } from './members.sql.ts';
import { freePlace, linuxNameOf } from './names.ts';

/** Members that an environment may have. */
const mostMembers = 200;

/** Throws 409 `already_member` for the address of a member, 429 `quota_exceeded` in an environment with 200 of them. */
export async function checkPlace(tx: Db, id: string, email: string): Promise<void> {
  const before = await membersOf(tx, id);
  const known = before.find((member) => member.email.toLowerCase() === email.toLowerCase());
  if (known) throw alreadyMember(known.email);
  if (before.length >= mostMembers) throw full();
}

const alreadyMember = (email: string): ApiError =>
  new ApiError('already_member', `${email} is a member already; change the role with PATCH`);

const full = (): ApiError =>
  new ApiError('quota_exceeded', `an environment has at most ${mostMembers} members; take one out first`);

/** Adds a member to an environment that is locked. Throws 409 `already_member`, 429 past 200. */
export async function join(
  tx: Db,
  now: string,
  row: Pick<EnvironmentRow, 'id'>,
  person: { accountId: string; email: string; role: EnvironmentRole },
): Promise<void> {
  const before = await membersOf(tx, row.id);
  if (before.some(({ account_id: id }) => id === person.accountId)) throw alreadyMember(person.email);
  if (before.length >= mostMembers) throw full();
  await insertMember(tx, now, {
    environment_id: row.id,
    account_id: person.accountId,
    role: person.role,
    linux_username: linuxNameOf(person.email, new Set(before.map(({ linux_username: name }) => name))),
    place: freePlace(before.map(({ place }) => place)),
  });
}

/** A member of an environment that is locked, and how many owners there are. Throws 404. */
export async function memberOf(tx: Db, id: string, accountId: string): Promise<{ member: MemberRow; owners: number }> {
  const all = await membersOf(tx, id);
  const member = all.find(({ account_id: of }) => of === accountId);
  if (!member) throw notFound('member');
  return { member, owners: all.filter(({ role }) => role === 'owner').length };
}

/** A developer has a terminal: an app gives nobody what it has not itself. Throws 403. */
export function checkGift(actor: Actor, role: EnvironmentRole): void {
  if (isAtLeast(role, 'developer')) checkOfApps(actor, 'environments:terminal');
}

/** Who makes, changes or removes an owner is one (design: answers, "member roles"). Throws 403. */
export function checkOwners(own: EnvironmentRole, ...roles: EnvironmentRole[]): void {
  if (roles.includes('owner')) checkRole(own, 'owner', 'to make, change or remove an owner');
}

/** Throws 409 `last_owner` when nobody would be left who owns the environment. */
export function checkOwnerStays({ member, owners }: { member: MemberRow; owners: number }): void {
  if (member.role !== 'owner' || owners > 1) return;
  throw new ApiError(
    'last_owner',
    'this is the only owner; make somebody else an owner first, or destroy the environment',
  );
}
