import type { Db } from '../../kernel/db/db.ts';
import type { Clock } from '../../kernel/base/clock.ts';
import { nowOf } from '../../kernel/db/db.ts';

/** A finished request to a model. */
export interface RequestRow {
  account_id: string;
  key_id: string;
  trace_id: string;
  model: string;
  lane: string;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_micro_usd: number;
  priced: boolean;
  /** The upstream did not say its tokens: they are a guess. */
  estimated: boolean;
  created_at: string;
}

/** Writes finished requests. */
export async function insertRequests(db: Db, rows: readonly RequestRow[]): Promise<void> {
  const column = <T>(pick: (row: RequestRow) => T): T[] => rows.map(pick);
  await db`
    insert into inference.requests (account_id, key_id, trace_id, model, lane, input_tokens, output_tokens, cached_tokens,
      cost_micro_usd, priced, estimated, created_at)
    select * from unnest(
      ${column((r) => r.account_id)}::uuid[], ${column((r) => r.key_id)}::uuid[], ${column((r) => r.trace_id)}::text[],
      ${column((r) => r.model)}::text[], ${column((r) => r.lane)}::text[], ${column((r) => r.input_tokens)}::bigint[],
      ${column((r) => r.output_tokens)}::bigint[], ${column((r) => r.cached_tokens)}::bigint[],
      ${column((r) => r.cost_micro_usd)}::bigint[], ${column((r) => String(r.priced))}::text[]::boolean[],
      ${column((r) => String(r.estimated))}::text[]::boolean[], ${column((r) => r.created_at)}::timestamptz[])`;
}

/** The newest request of an account with a trace id. */
export async function findRequest(db: Db, accountId: string, traceId: string): Promise<RequestRow | undefined> {
  const [row] = await db<RequestRow[]>`
    select account_id, key_id, trace_id, model, lane, input_tokens, output_tokens, cached_tokens, cost_micro_usd, priced,
      estimated, created_at
    from inference.requests where account_id = ${accountId} and trace_id = ${traceId}
    order by created_at desc limit 1`;
  return row;
}

/** Deletes what is older than `days`. */
export async function deleteOldRequests(db: Db, clock: Pick<Clock, 'instant'>, days: number): Promise<void> {
  await db`delete from inference.requests where created_at < ${nowOf(db, clock)} - make_interval(days => ${days})`;
}

/** Most ids that are kept of an account: the oldest go. */
const mostStored = 20_000;

/** Keeps which lane an account's ids, as hashes in hex, stand with. */
export async function insertStored(
  db: Db,
  clock: Pick<Clock, 'instant'>,
  { accountId, lane, ids }: { accountId: string; lane: string; ids: readonly string[] },
): Promise<void> {
  await db`
    insert into inference.stored (account_id, id, lane, created_at)
    select ${accountId}, decode(one, 'hex'), ${lane}, ${nowOf(db, clock)} from unnest(${ids}::text[]) one
    on conflict (account_id, id) do update set lane = excluded.lane, created_at = excluded.created_at`;
  await db`
    delete from inference.stored where account_id = ${accountId} and created_at < (
      select created_at from inference.stored where account_id = ${accountId}
      order by created_at desc offset ${mostStored} limit 1)`;
}

/** Which of an account's ids are kept, each with its lane. */
export async function findStored(db: Db, accountId: string, ids: readonly string[]): Promise<{ lane: string }[]> {
  return db<{ lane: string }[]>`
    select lane from inference.stored where account_id = ${accountId} and id in (select decode(one, 'hex') from unnest(${ids}::text[]) one)`;
}

/** Deletes what providers keep no longer. */
export async function deleteOldStored(db: Db, clock: Pick<Clock, 'instant'>): Promise<void> {
  await db`delete from inference.stored where created_at < ${nowOf(db, clock)} - interval '31 days'`;
}
