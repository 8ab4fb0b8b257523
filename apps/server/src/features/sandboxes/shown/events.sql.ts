import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** What may become of a sandbox. */
export type SandboxEventKind = 'created' | 'paused' | 'resumed' | 'forked' | 'extended' | 'stopped' | 'failed';

/** Something that became of a sandbox. */
export interface NewSandboxEvent {
  sandboxId: string;
  kind: SandboxEventKind;
  /** Small, and without a secret. */
  detail: object;
}

/** Of one sandbox; of further ones the oldest goes. */
const mostEvents = 200;

/** Adds to the events of a sandbox; nothing for one that is gone. */
export async function insertEvent(db: Db, time: Time, { sandboxId, kind, detail }: NewSandboxEvent): Promise<void> {
  await db`
    with oldest as (
      delete from sandboxes.events where sandbox_id = ${sandboxId} and seq <= (
        select seq from sandboxes.events where sandbox_id = ${sandboxId} order by seq desc offset ${mostEvents - 1} limit 1))
    insert into sandboxes.events (sandbox_id, at, kind, detail)
    select id, date_trunc('milliseconds', ${nowOf(db, time)}), ${kind}, ${JSON.stringify(detail)}::text::jsonb
    from sandboxes.sandboxes where id = ${sandboxId}`;
}

/** An event as it is stored. */
interface EventRow {
  id: string;
  at: string;
  kind: SandboxEventKind;
  detail: Record<string, unknown>;
}

/** Events of a sandbox, newest first: those before the one with the number `before`. */
export async function listEvents(
  db: Db,
  sandboxId: string,
  { before = null, limit }: { before: string | null | undefined; limit: number },
): Promise<EventRow[]> {
  return db<EventRow[]>`
    select seq::text as id, at, kind, detail from sandboxes.events
    where sandbox_id = ${sandboxId} and (${before}::text is null or seq < ${before}::text::bigint)
    order by seq desc limit ${limit}`;
}
