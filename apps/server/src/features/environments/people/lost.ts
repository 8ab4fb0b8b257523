import type { Actor } from '../../../kernel/base/actor.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { appOf, appsThatLetIn, noteGone, noteLost, noteVouched } from '../../../kernel/records/let-in.ts';
import type { MemberRow } from '../environments.rows.ts';

/** The apps of a member by which the caller acts on them: the app itself, or those that let the caller in. */
async function appsBehind(tx: Db, actor: Actor, id: string, userId: string): Promise<string[]> {
  if (actor.accountId !== userId) return appsThatLetIn(tx, userId, ['member', 'role'], `${id}/${actor.accountId}`);
  const app = appOf(actor);
  return app === undefined ? [] : [app];
}

/** Of an owner who had not agreed to own it: they come back as one. */
export const unaskedNote = 'unasked';

const lostBy = ({ environment_id: id, account_id: accountId, email, role, is_unasked: isUnasked }: MemberRow) => {
  const beforeNote = isUnasked ? unaskedNote : undefined;
  return { kind: 'role', subject: `${id}/${accountId}`, name: email, before: role, beforeNote, accountId } as const;
};

/** Notes that somebody new is let in: what earlier notes say of them is over, but for what they lost to whom their apps let in. */
export async function noteNew(tx: Db, actor: Actor, id: string, userId: string): Promise<void> {
  const isByApps = (await appsBehind(tx, actor, id, userId)).length > 0;
  await noteGone(tx, ['member', 'role'], `${id}/${userId}`, isByApps ? { except: userId } : {});
}

/**
 * Notes that a member's role changed: what their own apps took from them by it comes back; what others decided stays. Who gives
 * them more by themselves vouches for them.
 */
export async function noteChanged(tx: Db, actor: Actor, member: MemberRow, isLess: boolean): Promise<void> {
  const { environment_id: id, account_id: userId } = member;
  if (!isLess && appOf(actor) === undefined && userId !== actor.accountId) {
    const who = { subject: `${id}/${userId}`, own: `${id}/${actor.accountId}` };
    await noteVouched(tx, actor.accountId, ['member', 'role'], who);
  }
  const apps = await appsBehind(tx, actor, id, userId);
  if (apps.length === 0) await noteGone(tx, ['role'], `${id}/${userId}`, { accountId: userId });
  else if (isLess) await noteLost(tx, apps, lostBy(member));
}

/**
 * Notes that a member, or somebody invited, is out. Whom their own apps took out is back when these are disconnected. Of whoever
 * left, or was taken out by others, all that their apps let in is left to those who stay.
 */
export async function noteOut(tx: Db, actor: Actor, member: MemberRow): Promise<void> {
  const { environment_id: id, account_id: userId, accepted_at: at } = member;
  const apps = await appsBehind(tx, actor, id, userId);
  if (apps.length > 0) return at === null ? undefined : noteLost(tx, apps, lostBy(member));
  await noteGone(tx, ['member', 'role', 'ssh_key'], `${id}/${userId}`);
  if (at !== null) await noteGone(tx, ['member', 'role', 'port'], `${id}/`, { accountId: userId });
}
