import { createHash } from 'node:crypto';
import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { noteAllGone } from '../../../kernel/records/let-in.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../../kernel/db/paging.ts';

/** A browser that was not seen for so many days is silent: some phones stop to show what it is sent. */
export const silentDays = 14;

/** A browser that gets notifications. */
interface SubscriptionRow {
  id: string;
  endpoint: string;
  created_at: string;
}

/** A browser as it is listed. */
interface ListedSubscription extends PagedRow {
  device_name: string;
  created_at: string;
  last_seen_at: string;
  last_delivered_at: string | null;
  delivered_at: string | null;
  silent: boolean;
  last_error_at: string | null;
  last_error_status: number | null;
  last_error_reason: string | null;
}

/** What a browser says of itself when it subscribes. */
interface NewSubscription {
  accountId: string;
  /** Of the browser's own login: with it the subscription ends. */
  loginId: string | undefined;
  endpoint: string;
  p256dh: string;
  auth: string;
  /** Unset: that of a subscription that is there stays. */
  deviceName: string | undefined;
  hideContents: boolean | undefined;
}

/** Notes that these go: an app had let them in. */
const noteIdsGone = (db: Db, gone: readonly { id: string }[]): Promise<void> =>
  noteAllGone(
    db,
    ['push'],
    gone.map(({ id }) => id),
  );

const hashOf = (endpoint: string): Buffer => createHash('sha256').update(endpoint).digest();

/**
 * Stores a browser of the account; a repeat counts as seen. One that had subscribed for another account with the same secrets
 * has changed hands: that account's subscription ends. `isNew` is false for a repeat.
 */
export async function upsertSubscription(
  db: Db,
  time: Time,
  subscription: NewSubscription,
): Promise<SubscriptionRow & { isNew: boolean }> {
  const { accountId, endpoint, p256dh, auth, deviceName = null, hideContents = null } = subscription;
  const { loginId = null } = subscription;
  const [hash, now] = [hashOf(endpoint), nowOf(db, time)];
  const former = await db<{ id: string }[]>`
    delete from notifications.subscriptions
    where endpoint_hash = ${hash} and account_id <> ${accountId} and p256dh = ${p256dh} and auth = ${auth} returning id`;
  await noteIdsGone(db, former);
  const [row] = await db<(SubscriptionRow & { isNew: boolean })[]>`
    insert into notifications.subscriptions as s
      (account_id, login_id, endpoint, endpoint_hash, p256dh, auth, device_name, hide_contents, created_at, last_seen_at)
    values (${accountId}, ${loginId}, ${endpoint}, ${hash}, ${p256dh}, ${auth}, coalesce(${deviceName}::text, ''),
      coalesce(${hideContents}::boolean, false), ${now}, ${now})
    on conflict (account_id, endpoint_hash) do update set login_id = excluded.login_id, p256dh = excluded.p256dh, auth = excluded.auth,
      device_name = coalesce(${deviceName}::text, s.device_name),
      hide_contents = coalesce(${hideContents}::boolean, s.hide_contents), last_seen_at = excluded.last_seen_at
    returning id, endpoint, created_at, xmax = 0 as "isNew"`;
  return row as SubscriptionRow & { isNew: boolean };
}

/** Browsers of an account, newest first. */
export async function listSubscriptions(
  db: Db,
  time: Time,
  accountId: string,
  page: PageQuery,
): Promise<ListedSubscription[]> {
  return db<ListedSubscription[]>`
    select id, device_name, created_at, last_seen_at, last_delivered_at, delivered_at, created_at::text as page_at,
      last_error_at, last_error_status, last_error_reason,
      last_seen_at < ${nowOf(db, time)} - make_interval(days => ${silentDays}) as silent
    from notifications.told_view
    where account_id = ${accountId} ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** Forgets the oldest browsers of an account beyond `most`. */
export async function trimSubscriptions(db: Db, accountId: string, most: number): Promise<void> {
  const gone = await db<{ id: string }[]>`
    delete from notifications.subscriptions where id in (
      select id from notifications.subscriptions where account_id = ${accountId}
      order by created_at desc, id offset ${most})
    returning id`;
  await noteIdsGone(db, gone);
}

/** Forgets a browser of the account by its endpoint; answers its id. */
export async function deleteSubscription(db: Db, accountId: string, endpoint: string): Promise<string | undefined> {
  const gone = await db<{ id: string }[]>`
    delete from notifications.subscriptions where account_id = ${accountId} and endpoint_hash = ${hashOf(endpoint)}
    returning id`;
  await noteIdsGone(db, gone);
  return gone[0]?.id;
}

/** Forgets a browser of the account by its id; answers whether it was there. */
export async function deleteSubscriptionById(db: Db, accountId: string, id: string): Promise<boolean> {
  const gone = await db<{ id: string }[]>`
    delete from notifications.subscriptions where account_id = ${accountId} and id = ${id} returning id`;
  await noteIdsGone(db, gone);
  return gone.length > 0;
}

/** Forgets browsers whose login was ended: of an account, or of all. */
export async function dropUntold(db: Db, accountId?: string): Promise<void> {
  const gone = await db<{ id: string }[]>`
    delete from notifications.subscriptions where id not in (select id from notifications.told_view)
      ${accountId === undefined ? db`` : db`and account_id = ${accountId}`} returning id`;
  await noteIdsGone(db, gone);
}

/** Forgets a browser that its push service does not know any more, and what was still to be sent to it. */
export async function dropSubscription(db: Db, id: string): Promise<void> {
  await noteIdsGone(
    db,
    await db<{ id: string }[]>`delete from notifications.subscriptions where id = ${id} returning id`,
  );
}

/** Notes that the push service of a browser has just taken a notification: what it refused before is over. */
export async function noteDelivered(db: Db, time: Time, id: string): Promise<void> {
  await db`
    update notifications.subscriptions set last_delivered_at = ${nowOf(db, time)},
      last_error_at = null, last_error_status = null, last_error_reason = null
    where id = ${id}`;
}

/**
 * Notes that a notification has come to a browser, both of the account, and answers when; a repeat for the same one
 * answers alike. Undefined: the account has no such browser or no such notification.
 */
export async function noteArrived(
  db: Db,
  time: Time,
  { accountId, id, notificationId }: { accountId: string; id: string; notificationId: string },
): Promise<string | undefined> {
  const [row] = await db<{ delivered_at: string }[]>`
    update notifications.subscriptions set delivered_id = ${notificationId},
      delivered_at = case when delivered_id = ${notificationId} then delivered_at else ${nowOf(db, time)} end
    where id = ${id} and account_id = ${accountId}
      and exists (select from notifications.notifications n where n.id = ${notificationId} and n.account_id = ${accountId})
    returning delivered_at`;
  return row?.delivered_at;
}

/** Notes why a notification did not reach the push service of a browser, or was not taken there. */
export async function noteFailed(
  db: Db,
  time: Time,
  { id, status, reason }: { id: string; status?: number | undefined; reason: string },
): Promise<void> {
  await db`
    update notifications.subscriptions set last_error_at = ${nowOf(db, time)}, last_error_status = ${status ?? null},
      last_error_reason = ${reason}
    where id = ${id}`;
}
