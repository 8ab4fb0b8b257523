import type { Db } from '../../kernel/db/db.ts';
import type { Channel } from './notifications.sql.ts';

/** How the first attempt at a delivery went, in words for the person who asked: without a secret. */
export interface FirstOutcome {
  ok: boolean;
  status?: number | undefined;
  reason?: string | undefined;
}

/** By delivery: how its first attempt went. */
export type Outcomes = ReadonlyMap<string, FirstOutcome>;

/** Keeps how an attempt at a delivery of a notification went; the first one stays. */
export async function addOutcome(db: Db, id: string, deliveryId: string, outcome: FirstOutcome): Promise<void> {
  await db`
    update notifications.notifications
    set outcomes = jsonb_build_object(${deliveryId}::text, ${JSON.stringify(outcome)}::text::jsonb)
      || coalesce(outcomes, '{}')
    where id = ${id}`;
}

/** The outcomes of a notification so far. */
export async function findOutcomes(db: Db, id: string): Promise<Outcomes> {
  const [row] = await db<{ outcomes: Record<string, FirstOutcome> | null }[]>`
    select outcomes from notifications.notifications where id = ${id}`;
  return new Map(Object.entries(row?.outcomes ?? {}));
}

/** Where a notification goes besides the inbox: its deliveries that wait, one a target. */
export async function targetsOf(db: Db, accountId: string, dedupeKey: string) {
  return db<
    { id: string; channel: Channel; endpoint: string | null; device_name: string | null; webhook_id: string | null }[]
  >`
    select d.id, d.channel, s.endpoint, s.device_name, d.webhook_id
    from notifications.notifications n
    join notifications.deliveries d on d.notification_id = n.id
    left join notifications.subscriptions s on s.id = d.subscription_id
    where n.account_id = ${accountId} and n.dedupe_key = ${dedupeKey} order by d.channel, d.id`;
}
