import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../../kernel/db/paging.ts';
import type { Quota } from '../../../kernel/records/quotas.ts';
import type { WebhookFormat } from '../notifications.rules.ts';

/** A webhook as it is stored. */
export interface WebhookRow {
  id: string;
  account_id: string;
  name: string;
  format: WebhookFormat;
  types: string[] | null;
  enabled: boolean;
  disabled_reason: string | null;
  failing_since: string | null;
  sealed: Buffer;
  created_at: string;
  updated_at: string;
}

/** The fields of a webhook that a person sets, its secrets sealed. */
type WebhookTerms = Pick<WebhookRow, 'name' | 'format' | 'types' | 'enabled' | 'sealed'>;

const columns = (db: Db) => db`
  id, account_id, name, format, types, enabled, disabled_reason, failing_since, sealed, created_at, updated_at`;

/** Limit of the webhooks of an account. */
export const webhooksQuota: Quota = {
  name: 'webhooks',
  remedy: 'delete one that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from notifications.webhooks where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Stores a new webhook. */
export async function insertWebhook(db: Db, time: Time, accountId: string, terms: WebhookTerms): Promise<WebhookRow> {
  const { name, format, types, enabled, sealed } = terms;
  const now = nowOf(db, time);
  const [row] = await db<WebhookRow[]>`
    insert into notifications.webhooks (account_id, name, format, types, enabled, sealed, created_at, updated_at)
    values (${accountId}, ${name}, ${format}, ${types}::text[], ${enabled}, ${sealed}, ${now}, ${now})
    returning ${columns(db)}`;
  return row as WebhookRow;
}

/** Webhooks of an account, newest first. */
export async function listWebhooks(db: Db, accountId: string, page: PageQuery): Promise<(WebhookRow & PagedRow)[]> {
  return db<(WebhookRow & PagedRow)[]>`
    select ${columns(db)}, created_at::text as page_at from notifications.webhooks
    where account_id = ${accountId} ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** A webhook of the account. */
export async function findWebhook(db: Db, accountId: string, id: string): Promise<WebhookRow | undefined> {
  const [row] = await db<WebhookRow[]>`
    select ${columns(db)} from notifications.webhooks where id = ${id} and account_id = ${accountId}`;
  return row;
}

/** The same, locked until the transaction ends; what tells the account of something does not wait for it. */
export async function lockWebhook(db: Db, accountId: string, id: string): Promise<WebhookRow | undefined> {
  const [row] = await db<WebhookRow[]>`
    select ${columns(db)} from notifications.webhooks where id = ${id} and account_id = ${accountId} for no key update`;
  return row;
}

/** Replaces what is said of a locked webhook. One that is switched on again, or gets another address, begins anew. */
export async function updateWebhook(
  db: Db,
  time: Time,
  id: string,
  terms: WebhookTerms & { isElsewhere?: boolean },
): Promise<WebhookRow> {
  const { name, format, types, enabled, sealed, isElsewhere = false } = terms;
  const [row] = await db<WebhookRow[]>`
    update notifications.webhooks set name = ${name}, format = ${format}, types = ${types}::text[], sealed = ${sealed},
      disabled_reason = case when ${enabled} then null else disabled_reason end,
      failing_since = case when ${enabled} and enabled and not ${isElsewhere} then failing_since end,
      enabled = ${enabled}, updated_at = ${nowOf(db, time)}
    where id = ${id} returning ${columns(db)}`;
  if (!enabled) await dropWaiting(db, id);
  else if (isElsewhere) await hastenWaiting(db, time, id);
  return row as WebhookRow;
}

/** Deletes a webhook of the account, and what waits for it; answers whether there was one. */
export async function deleteWebhook(db: Db, accountId: string, id: string): Promise<boolean> {
  const rows = await db`
    delete from notifications.webhooks where id = ${id} and account_id = ${accountId} returning id`;
  return rows.length > 0;
}

/** Switches a webhook of the account off; answers whether there was one that was on. */
export async function switchOff(db: Db, time: Time, accountId: string, id: string): Promise<boolean> {
  const { count } = await db`
    update notifications.webhooks set enabled = false, updated_at = ${nowOf(db, time)}
    where id = ${id} and account_id = ${accountId} and enabled`;
  if (count > 0) await dropWaiting(db, id);
  return count > 0;
}

/** Forgets what waits for a webhook, and says of no attempt any more that another follows. */
async function dropWaiting(db: Db, id: string): Promise<void> {
  await db`delete from notifications.deliveries where webhook_id = ${id}`;
  await db`
    update notifications.webhook_attempts set next_attempt_at = null
    where webhook_id = ${id} and next_attempt_at is not null`;
}

/** A webhook whose delivery is noted, locked until the transaction ends: its other deliveries wait for that. */
export async function lockWebhookById(db: Db, id: string): Promise<WebhookRow | undefined> {
  const [row] = await db<WebhookRow[]>`
    select ${columns(db)} from notifications.webhooks where id = ${id} for no key update`;
  return row;
}

/** It takes deliveries again: what waits for the next attempt is due now. What is being sent stays with its process. */
export async function hastenWaiting(db: Db, time: Time, id: string): Promise<void> {
  const now = nowOf(db, time);
  await db`
    with hastened as (
      update notifications.deliveries d set due_at = ${now} - make_interval(secs => o.later / 1e6)
      from (
        -- In the order in which they came, by microseconds: whoever takes them goes by when they are due.
        select f.id, row_number() over (order by n.seq desc) as later from (
          select id, notification_id from notifications.deliveries
          where webhook_id = ${id} and due_at > ${now} and (held_until is null or held_until <= ${now})
          for update skip locked) f
        join notifications.notifications n on n.id = f.notification_id) o
      where d.id = o.id returning d.notification_id
    )
    update notifications.webhook_attempts a set next_attempt_at = ${now}
    from hastened h where a.webhook_id = ${id} and a.notification_id = h.notification_id and a.next_attempt_at > ${now}`;
}

/** Deliveries that may wait for one webhook. */
const mostWaiting = 200;

/**
 * Drops what waits for webhooks beyond the bound, and keeps that among their attempts: the least urgent, of those the oldest of
 * the type that has most. For webhooks that this transaction has told something, so that none of them can be deleted meanwhile.
 */
export async function dropBeyond(db: Db, time: Time, webhookIds: readonly string[]): Promise<void> {
  if (webhookIds.length === 0) return;
  const now = nowOf(db, time);
  const dropped = await db<{ webhook_id: string; notification_id: string }[]>`
    with waiting as (
      select d.id, d.webhook_id, d.urgency, n.seq, coalesce(d.held_until > ${now}, false) as is_held,
        row_number() over (partition by d.webhook_id, d.urgency, n.type order by n.seq desc) as nth_of_type
      from notifications.deliveries d join notifications.notifications n on n.id = d.notification_id
      where d.webhook_id = any(${[...webhookIds]}::uuid[])
    ), ranked as (
      select id, row_number() over (partition by webhook_id
        order by is_held desc, urgency, nth_of_type, seq desc) as nth from waiting
    ), beyond as (
      select d.id from notifications.deliveries d join ranked r on r.id = d.id
      where r.nth > ${mostWaiting} and (d.held_until is null or d.held_until <= ${now})
      for update of d skip locked
    ), dropped as (
      delete from notifications.deliveries d using beyond b where d.id = b.id
      returning d.id, d.webhook_id, d.notification_id, d.attempts
    )
    insert into notifications.webhook_attempts
      (webhook_id, message_id, notification_id, type, at, attempt, ok, reason, duration_ms)
    select d.webhook_id, 'msg_' || replace(d.id::text, '-', ''), d.notification_id, n.type, ${now}, d.attempts, false,
      ${`dropped: ${mostWaiting} more urgent or newer ones wait`}, 0
    from dropped d join notifications.notifications n on n.id = d.notification_id order by n.seq
    returning webhook_id, notification_id`;
  if (dropped.length === 0) return;
  await db`
    update notifications.webhook_attempts set next_attempt_at = null
    where webhook_id = any(${dropped.map((one) => one.webhook_id)}::uuid[]) and next_attempt_at is not null
      and notification_id = any(${dropped.map((one) => one.notification_id)}::uuid[])`;
  for (const id of new Set(dropped.map((one) => one.webhook_id))) await trimAttempts(db, id);
}

/** Notes whether an attempt arrived; answers since when none did, null when this one did. */
export async function noteArrival(db: Db, time: Time, id: string, arrived: boolean): Promise<string | null> {
  const [row] = await db<{ failing_since: string | null }[]>`
    update notifications.webhooks
    set failing_since = ${arrived ? db`null` : db`coalesce(failing_since, ${nowOf(db, time)})`}
    where id = ${id} and (${!arrived} or failing_since is not null) returning failing_since`;
  return row?.failing_since ?? null;
}

/** Why the platform switches a webhook off. */
export type DisabledReason = 'gone' | 'failing' | 'broken';

/** Switches a webhook off and drops what waits for it; undefined when it was off already. */
export async function disableWebhook(
  db: Db,
  time: Time,
  id: string,
  reason: DisabledReason,
): Promise<WebhookRow | undefined> {
  const [row] = await db<WebhookRow[]>`
    update notifications.webhooks set enabled = false, disabled_reason = ${reason}, updated_at = ${nowOf(db, time)}
    where id = ${id} and enabled returning ${columns(db)}`;
  if (row) await dropWaiting(db, id);
  return row;
}

/** How an attempt went. */
export interface AttemptRow {
  message_id: string;
  notification_id: string | null;
  type: string;
  at: string;
  attempt: number;
  ok: boolean;
  status: number | null;
  reason: string | null;
  duration_ms: number;
  next_attempt_at: string | null;
}

/** Attempts that are kept of a webhook. */
const mostAttempts = 200;

/** Keeps how an attempt went, and forgets the oldest beyond the bound; does nothing when the webhook is gone. */
export async function insertAttempt(db: Db, webhookId: string, attempt: AttemptRow): Promise<void> {
  const [webhook] = await db`select 1 from notifications.webhooks where id = ${webhookId} for key share`;
  if (!webhook) return;
  await db`insert into notifications.webhook_attempts ${db({ ...attempt, webhook_id: webhookId })}`;
  await trimAttempts(db, webhookId);
}

async function trimAttempts(db: Db, webhookId: string): Promise<void> {
  await db`
    delete from notifications.webhook_attempts where webhook_id = ${webhookId} and seq <= (
      select seq from notifications.webhook_attempts where webhook_id = ${webhookId}
      order by seq desc offset ${mostAttempts} limit 1)`;
}

/** The last attempts of a webhook, newest first. */
export async function listAttempts(db: Db, webhookId: string, limit: number): Promise<AttemptRow[]> {
  return db<AttemptRow[]>`
    select message_id, notification_id, type, at, attempt, ok, status, reason, duration_ms, next_attempt_at
    from notifications.webhook_attempts where webhook_id = ${webhookId} order by seq desc limit ${limit}`;
}

/** Forgets attempts older than `days`. */
export async function sweepAttempts(db: Db, time: Time, days: number): Promise<void> {
  await db`
    delete from notifications.webhook_attempts where at < ${nowOf(db, time)} - make_interval(days => ${days})`;
}

/** Those of these webhooks that are there. */
export async function existingWebhooks(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from notifications.webhooks where id = any(${[...ids]}::uuid[])`;
  return rows.map(({ id }) => id);
}
