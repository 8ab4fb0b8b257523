import type { Db } from '../../kernel/db/db.ts';

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
