import type { Db } from '../../kernel/db/db.ts';
import type { Clock } from '../../kernel/clock.ts';
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
