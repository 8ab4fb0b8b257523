import type { Resolution } from '@svc/contract';
import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { columns, mostWaitingPushes, type NotificationRow } from './notifications.sql.ts';
import { urgencies } from './notifications.rules.ts';

/** The end of what notifications told of. */
export interface EndOfCause {
  accountId: string;
  /** `cause` of the notifications. */
  cause: string;
  /** Those types alone; unset: all. */
  types?: readonly string[];
  resolution: Resolution;
  /** Dedupe key of a notification of this transaction that takes the place of their pushes. */
  instead?: string;
}

/**
 * Marks notifications as resolved, and as read: nobody has to look any more. Deliveries by push and mail that were not tried yet are
 * dropped, and browsers that may show one get another push, which takes its place. Answers the notifications, and whether a push is due.
 */
export async function resolveByCause(
  db: Db,
  time: Time,
  ends: readonly EndOfCause[],
): Promise<(NotificationRow & { due: boolean })[]> {
  const now = nowOf(db, time);
  // In one order over all transactions: two that end the same causes must not wait for each other.
  const order = ({ accountId, cause }: EndOfCause): string => `${accountId} ${cause}`;
  const sorted = ends.toSorted((one, other) => (order(one) < order(other) ? -1 : 1));
  const given = sorted.map(({ accountId, cause, types, resolution, instead }) => ({
    account_id: accountId,
    cause,
    types: types ?? null,
    resolution,
    instead: instead ?? null,
  }));
  return db<(NotificationRow & { due: boolean })[]>`
    with given as (
      select * from json_to_recordset(${JSON.stringify(given)}::text::json) as given (account_id uuid, cause text,
        types text[], resolution text, instead text)
    ), over as (
      select n.id, g.resolution, g.instead from given g cross join lateral (
        select id from notifications.notifications n
        where n.account_id = g.account_id and n.cause = g.cause and n.resolved_at is null
          and (g.types is null or n.type = any(g.types))
        order by n.id for update) n
    ), resolved as (
      update notifications.notifications n
      set resolved_at = ${now}, resolution = o.resolution, read_at = coalesce(n.read_at, ${now})
      from over o where n.id = o.id and n.resolved_at is null
      returning n.*, o.instead
    ), untried as (
      select d.id from notifications.deliveries d join resolved r on r.id = d.notification_id
      where d.channel in ('push', 'mail') and d.attempts = 0 for update of d skip locked
    ), dropped as (
      delete from notifications.deliveries d using untried u where d.id = u.id
    ), shown as (
      select r.id, r.account_id, s.id as subscription_id,
        row_number() over (partition by s.id order by r.seq desc) as nth
      from resolved r join notifications.told_view s on s.account_id = r.account_id and s.created_at <= r.created_at
      where r.pushed and not exists (
          select from notifications.deliveries d where d.notification_id = r.id and d.subscription_id = s.id)
        and not exists (
          select from notifications.deliveries d join notifications.notifications i on i.id = d.notification_id
          where d.subscription_id = s.id and i.account_id = r.account_id and i.dedupe_key = r.instead)
    ), pushes as (
      insert into notifications.deliveries (channel, lane, notification_id, subscription_id, due_at, urgency)
      select 'push', s.account_id, s.id, s.subscription_id, ${now}, ${urgencies.withdrawn} from shown s
      where ${mostWaitingPushes} >= s.nth + (select count(*) from notifications.deliveries d
        where d.subscription_id = s.subscription_id and d.urgency = ${urgencies.withdrawn})
      returning notification_id
    )
    select ${columns(db)}, id in (select notification_id from pushes) as due from resolved order by seq`;
}
