import type { Resolution } from '@svc/contract';
import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { silentDays } from './push/subscriptions.sql.ts';
import { type NewNotification, type Severity, urgencyOf, type WebhookFormat } from './notifications.rules.ts';

/** Deliveries of each urgency that may wait for one browser; what comes while it does not answer is in the inbox. */
export const mostWaitingPushes = 20;
/** It goes to each webhook, whichever types that wants: a person looks whether alerts arrive. */
export const testType = 'notification.test';

/** Deletes the e-mails to an address, sent or not, with their deliveries; answers how many. */
export async function deleteMails(db: Db, recipient: string): Promise<number> {
  const { count } = await db`delete from notifications.mails where lower(recipient) = lower(${recipient})`;
  return count;
}

/** An entry of the inbox. */
export interface NotificationRow {
  id: string;
  account_id: string;
  type: string;
  title: string;
  body: string;
  url: string | null;
  severity: Severity;
  data: Record<string, unknown> | null;
  created_at: string;
  read_at: string | null;
  archived_at: string | null;
  resolved_at: string | null;
  resolution: Resolution | null;
}

/** The columns of a notification's row. */
export const columns = (db: Db) =>
  db`id, account_id, type, title, body, url, severity, data, created_at, read_at, archived_at, resolved_at, resolution`;

/** The ways that a notification goes besides the inbox. */
export interface Ways {
  push: boolean;
  mail: boolean;
  webhook: boolean;
  /** Pushes and mail wait until then. */
  quietUntil: string | null;
}

/**
 * Stores those that are new, with a delivery for each browser and each webhook of the account that wants it, and one by
 * e-mail when there is a mail server: by the ways that each of them goes. A silent browser is told by mail in its place, where
 * mail gets to the account. No two have the same account and key. Answers what was stored; `due` tells whether anything is to be delivered, `webhooks`
 * which of those it goes to: what waits for one of them may be over its bound now. A target
 * that is being forgotten is passed over: waiting for it could be a deadlock, and a delivery to it would fail the caller's
 * transaction.
 */
export async function insertNotifications(
  db: Db,
  time: Time,
  notifications: readonly (NewNotification & Ways)[],
  mail: boolean,
): Promise<StoredNotification[]> {
  return db<StoredNotification[]>`
    with given as (
      select * from json_to_recordset(${textOf(notifications)}::text::json) as given (account_id uuid, dedupe_key text,
        type text, title text, body text, url text, severity text, data text, push boolean, mail boolean, webhook boolean,
        urgency smallint, cause text, "quietUntil" timestamptz)
    ), inserted as (
      insert into notifications.notifications
        (account_id, dedupe_key, type, title, body, url, severity, data, created_at, cause, pushed)
      select account_id, dedupe_key, type, title, body, url, severity, data::json, ${nowOf(db, time)}, cause, push
      from given
      on conflict (account_id, dedupe_key) do nothing
      returning *
    ), told as (
      select i.id, i.seq, i.account_id, i.type, i.created_at, g.push, g.mail, g.webhook, g.urgency,
        coalesce(g."quietUntil", i.created_at) as due_at
      from inserted i join given g on g.account_id = i.account_id and g.dedupe_key = i.dedupe_key
    ), browsers as (
      select s.id, s.account_id,
        ${mail} and s.last_seen_at < ${nowOf(db, time)} - make_interval(days => ${silentDays}) and exists (
          select 1 from accounts.people_view p where p.id = s.account_id and p.email not ilike '%@localhost') as by_mail
      from notifications.subscriptions s where s.account_id in (select account_id from told where push)
        and (s.login_id is null or not exists (select from auth.revoked_view r where r.id = s.login_id))
      for key share of s skip locked
    ), pushes as (
      insert into notifications.deliveries (channel, lane, notification_id, subscription_id, due_at, urgency)
      select 'push', b.account_id, i.id, b.id, i.due_at, i.urgency
      from (select *, row_number() over (partition by account_id, urgency order by seq) as nth from told where push) i
        join browsers b on b.account_id = i.account_id
      where not b.by_mail and ${mostWaitingPushes} >= i.nth + (
        select count(*) from notifications.deliveries d where d.subscription_id = b.id and d.urgency = i.urgency)
      returning notification_id
    ), webhooks as (
      insert into notifications.deliveries (channel, lane, notification_id, webhook_id, due_at, urgency)
      select 'webhook', w.account_id, i.id, w.id, i.created_at, i.urgency
      from told i join notifications.webhooks w on w.account_id = i.account_id and w.enabled
      where i.webhook and (w.types is null or i.type = ${testType}
          or exists (select 1 from unnest(w.types) wanted
            where i.type = lower(wanted) or starts_with(i.type, lower(wanted) || '.')))
      for key share of w skip locked
      returning notification_id, webhook_id
    ), mails as (
      insert into notifications.deliveries (channel, lane, notification_id, due_at, urgency)
      select 'mail', i.account_id, i.id, i.due_at, i.urgency from told i
      where ${mail} and (i.mail or i.push
        and exists (select 1 from browsers b where b.account_id = i.account_id and b.by_mail))
      returning notification_id
    )
    select ${columns(db)},
      id in (select notification_id from pushes union all select notification_id from webhooks
        union all select notification_id from mails) as due,
      array(select webhook_id from webhooks w where w.notification_id = inserted.id) as webhooks
    from inserted`;
}

/** The rows as the text of an array. */
function textOf(notifications: readonly (NewNotification & Ways)[]): string {
  return JSON.stringify(
    notifications.map(({ accountId, dedupeKey, data, ...rest }) => ({
      ...rest,
      urgency: urgencyOf(rest),
      // As text: on the way through a record it would be unescaped, which NUL does not survive.
      data: data === undefined ? null : JSON.stringify(data),
      account_id: accountId,
      dedupe_key: dedupeKey,
    })),
  );
}

/** See `insertNotifications`. */
interface StoredNotification extends NotificationRow {
  due: boolean;
  webhooks: string[];
}

/** Notifications of an account, newest first, `ordinal` by `ordinal`: those that came before the one with `before`. */
export async function listNotifications(
  db: Db,
  accountId: string,
  wanted: { unread: boolean; archived: boolean; before: string | undefined; limit: number },
): Promise<(NotificationRow & { ordinal: string })[]> {
  return db<(NotificationRow & { ordinal: string })[]>`
    select ${columns(db)}, seq::text as ordinal from notifications.notifications
    where account_id = ${accountId} and archived_at ${wanted.archived ? db`is not null` : db`is null`}
      ${wanted.unread ? db`and read_at is null` : db``}
      ${wanted.before === undefined ? db`` : db`and seq < ${wanted.before}::text::bigint`}
    order by seq desc limit ${wanted.limit}`;
}

/** How many are neither read nor archived. */
export async function countUnread(db: Db, accountId: string): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*) as count from notifications.notifications
    where account_id = ${accountId} and read_at is null and archived_at is null`;
  return row?.count ?? 0;
}

/** Notifications by id, in the order in which they came. */
export async function findNotifications(db: Db, ids: readonly string[]): Promise<NotificationRow[]> {
  return db<NotificationRow[]>`
    select ${columns(db)} from notifications.notifications where id = any(${[...ids]}::uuid[]) order by seq`;
}

/** Marks one of the account's read or archived, or not; what is undefined stays. The first instant counts. */
export async function markNotification(
  db: Db,
  time: Time,
  accountId: string,
  id: string,
  change: { read?: boolean | undefined; archived?: boolean | undefined },
): Promise<NotificationRow | undefined> {
  const { read = null, archived = null } = change;
  const now = nowOf(db, time);
  const [row] = await db<NotificationRow[]>`
    update notifications.notifications set
      -- What is over asks nobody to look.
      read_at = case when ${read}::boolean then coalesce(read_at, ${now})
        when not ${read}::boolean and resolved_at is null then null else read_at end,
      archived_at = case ${archived}::boolean
        when true then coalesce(archived_at, ${now}) when false then null else archived_at end
    where id = ${id} and account_id = ${accountId}
    returning ${columns(db)}`;
  return row;
}

/** Marks all of the account's read; answers how many were not, and when that was. */
export async function markAllRead(db: Db, time: Time, accountId: string): Promise<{ count: number; at: string }> {
  const rows = await db<{ read_at: string }[]>`
    update notifications.notifications set read_at = ${nowOf(db, time)}
    where account_id = ${accountId} and read_at is null returning read_at`;
  return { count: rows.length, at: rows[0]?.read_at ?? '' };
}

/** The notification that an account has under a key. */
export async function findByKey(db: Db, accountId: string, dedupeKey: string): Promise<NotificationRow | undefined> {
  const [row] = await db<NotificationRow[]>`
    select ${columns(db)} from notifications.notifications
    where account_id = ${accountId} and dedupe_key = ${dedupeKey}`;
  return row;
}

/** E-mail of a feature. */
export interface NewMail {
  to: string;
  subject: string;
  text: string;
  html?: string | undefined;
  dedupeKey: string;
}

/** Stores an e-mail to be sent; false when its key is known. */
export async function insertMail(db: Db, time: Time, mail: NewMail): Promise<boolean> {
  const rows = await db`
    with inserted as (
      insert into notifications.mails (dedupe_key, recipient, subject, body, html, created_at)
      values (${mail.dedupeKey}, ${mail.to}, ${mail.subject}, ${mail.text}, ${mail.html ?? null}, ${nowOf(db, time)})
      on conflict (dedupe_key) do nothing
      returning id, created_at
    )
    insert into notifications.deliveries (channel, lane, mail_id, due_at)
      select 'mail', ${mail.to}, id, created_at from inserted
    returning 1`;
  return rows.length > 0;
}

/** Ways to a person that may hang, each on its own. */
export type Channel = 'push' | 'mail' | 'webhook';

/** A webhook as a delivery carries it; `sealed` in hexadecimal. */
interface WaitingWebhook {
  id: string;
  account_id: string;
  format: WebhookFormat;
  enabled: boolean;
  sealed: string;
  failing_since: string | null;
}

/** One thing to send to one target, with all that it needs. */
export interface DeliveryRow {
  id: string;
  channel: Channel;
  /** Account or address whose delivery it is. */
  lane: string;
  attempts: number;
  notification: NotificationRow | null;
  /** Null with another channel, and when its person signed out of the browser meanwhile. */
  subscription: { id: string; endpoint: string; p256dh: string; auth: string; hide_contents: boolean } | null;
  webhook: WaitingWebhook | null;
  mail: { id: string; recipient: string; subject: string; body: string; html: string | null } | null;
}

/** How much of a channel may be taken now. */
export interface Free {
  channel: Channel;
  most: number;
  /** Most of one lane at once. */
  perLane: number;
  /** The lanes and targets of those at work. */
  running: readonly { lane: string; target: string }[];
}

/** The target of a delivery: a target that hangs must not keep the account's others waiting. */
export const targetOf = ({ webhook, subscription }: Pick<DeliveryRow, 'webhook' | 'subscription'>): string =>
  webhook?.id ?? subscription?.id ?? '';

/**
 * Takes deliveries that are due, for `leaseSeconds`; nobody else has them meanwhile. What one account waits for must not
 * keep the others waiting: lanes get theirs in turn, the one with the fewest at work first; in a lane its targets in
 * turn, and of one target the most urgent first. A webhook at which nothing arrives has one place at most, and all of those leave one place of the lane free. To
 * webhooks goes nothing of an account that may not run anything; it waits until it may.
 */
export async function takeDeliveries(db: Db, time: Time, free: Free, leaseSeconds: number): Promise<DeliveryRow[]> {
  const now = nowOf(db, time);
  const mayGo =
    free.channel === 'webhook'
      ? // The lane of another channel may be no uuid.
        db`and exists (select 1 from accounts.standing_view a
          where a.id = case d.channel when 'webhook' then d.lane::uuid end and a.may_run)`
      : db``;
  const target = db`coalesce(d.webhook_id, d.subscription_id)::text`;
  return db<DeliveryRow[]>`
    with busy as (
      select * from unnest(${free.running.map(({ lane }) => lane)}::text[],
        ${free.running.map((one) => one.target)}::text[]) as b(lane, target)
    ), ranked as (
      select d.id, d.lane, d.due_at, w.failing_since is not null as failing,
        (select count(*) from busy b where b.lane = d.lane and b.target = coalesce(${target}, ''))
          + row_number() over (partition by d.lane, ${target} order by d.urgency, d.due_at, d.id) as place
      from notifications.deliveries d left join notifications.webhooks w on w.id = d.webhook_id
      where d.due_at <= ${now} and d.channel = ${free.channel} ${mayGo}
    ), shared as (
      select r.id, r.failing, (select count(*) from busy b where b.lane = r.lane)
        + row_number() over (partition by r.lane order by r.failing, r.place, r.due_at) as turn
      from ranked r where not r.failing or r.place <= 1
    ), due as (
      select d.id from notifications.deliveries d join shared s on s.id = d.id
      where s.turn <= ${free.perLane} - (case when s.failing then 1 else 0 end) and d.due_at <= ${now}
      order by s.turn, d.due_at limit ${free.most}
      for update of d skip locked
    ), taken as (
      update notifications.deliveries d set attempts = attempts + 1,
        due_at = ${now} + make_interval(secs => ${leaseSeconds}), held_until = ${now} + make_interval(secs => ${leaseSeconds})
      from due where d.id = due.id
      returning d.id, d.channel, d.lane, d.attempts, d.notification_id, d.subscription_id, d.webhook_id, d.mail_id
    )
    select t.id, t.channel, t.lane, t.attempts, to_json(n) as notification, to_json(s) as subscription,
      to_json(w) as webhook, to_json(m) as mail
    from taken t
    left join notifications.notifications n on n.id = t.notification_id
    left join notifications.told_view s on s.id = t.subscription_id
    left join notifications.webhooks w on w.id = t.webhook_id
    left join notifications.mails m on m.id = t.mail_id`;
}

/** Which attempt at a delivery: what a later one found out counts more. */
type AttemptOf = Pick<DeliveryRow, 'id' | 'attempts'>;

/** Delivered: whichever attempt it was, none is to follow. */
export async function finishDelivery(db: Db, id: string): Promise<void> {
  await db`delete from notifications.deliveries where id = ${id}`;
}

/** Gives up, unless a later attempt is under way; answers whether it did. */
export async function giveUp(db: Db, { id, attempts }: AttemptOf): Promise<boolean> {
  return (await db`delete from notifications.deliveries where id = ${id} and attempts = ${attempts}`).count > 0;
}

/** Tries again in some seconds, and answers when; undefined when it is not waiting any more, or a later attempt is under way. */
export async function postponeDelivery(
  db: Db,
  time: Time,
  { id, attempts }: AttemptOf,
  seconds: number,
): Promise<string | undefined> {
  const [row] = await db<{ due_at: string }[]>`
    update notifications.deliveries set due_at = ${nowOf(db, time)} + make_interval(secs => ${seconds}), held_until = null
    where id = ${id} and attempts = ${attempts} returning due_at`;
  return row?.due_at;
}

/** Forgets notifications and e-mail older than `days`. */
export async function sweepOld(db: Db, time: Time, days: number): Promise<void> {
  const before = () => db`${nowOf(db, time)} - make_interval(days => ${days})`;
  await db`delete from notifications.notifications where created_at < ${before()}`;
  await db`delete from notifications.mails where created_at < ${before()}`;
}

/** Whether an account has a browser that takes pushes, or a webhook that is on. */
export async function hasRecipients(db: Db, accountId: string): Promise<boolean> {
  const recipients = db`
    select 1 from notifications.told_view where account_id = ${accountId}
    union all select 1 from notifications.webhooks where account_id = ${accountId} and enabled limit 1`;
  return (await recipients).length > 0;
}
