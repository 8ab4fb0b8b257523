import { createBatches } from '../work/batches.ts';
import type { Clock } from '../base/clock.ts';
import type { Db, Sql } from '../db/db.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { type UsageCount, UsageCounts, writeCounts } from './usage.counts.ts';

/** One authenticated request (kernel: Every response). */
export interface UsageRecord {
  /** Milliseconds since the epoch when the answer was complete. */
  at: number;
  accountId: string;
  keyId: string;
  /** The signed-in browser that asked. */
  loginId?: string | undefined;
  deviceId: string | undefined;
  /** `operationId`. */
  route: string;
  status: number;
  /** Body bytes sent. */
  bytes: number;
  ms: number;
  costMicroUsd: number;
  traceId: string;
}

export interface UsageRecorder {
  record(usage: UsageRecord): void;
  /** Writes what is held now. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** About 100 MB; reached only when the database is away for minutes under full load. */
const most = 200_000;
/** One statement: its text keeps the thread for well under a millisecond. */
const atOnce = 500;
/** The column's largest value: 24 days, less than a stream may last. One record that does not fit would hold up all. */
const mostMs = 2_147_483_647;

/** About 10 MB. */
const mostCounts = 50_000;
const drainEveryMs = 500;

/**
 * Collects usage records and writes them in batches off the request path. Free requests past the first of an account in a
 * minute are counted instead (`usage.counts.ts`).
 */
export function createUsageRecorder(sql: Sql, clock: Clock, log: Log, metrics?: Metrics): UsageRecorder {
  const write = (records: UsageRecord[]): Promise<void> => writeUsage(sql, records);
  const { add, flush, close } = createBatches({ clock, log, metrics }, { name: 'usage records', most, atOnce, write });
  const counts = new UsageCounts();
  const counted = createBatches(
    { clock, log, metrics },
    { name: 'counts of requests', most: mostCounts, atOnce, write: (some: UsageCount[]) => writeCounts(sql, some) },
  );
  const drain = (): void => {
    for (const count of counts.drain()) counted.add(count);
  };
  const stop = clock.every(drainEveryMs, drain);
  const both = async (first: () => Promise<void>, second: () => Promise<void>): Promise<void> => {
    drain();
    await Promise.all([first(), second()]);
  };
  return {
    record: (usage) => void (counts.take(usage) || add(usage)),
    flush: () => both(flush, counted.flush),
    close: () => {
      stop();
      return both(close, counted.close);
    },
  };
}

/** Writes records now: of what must be counted with the transaction that it belongs to. */
export async function writeUsage(sql: Db, records: UsageRecord[]): Promise<void> {
  const column = <T>(pick: (record: UsageRecord) => T): T[] => records.map(pick);
  await sql`
    insert into kernel.usage_records
      (at, account_id, key_id, login_id, device_id, route, status, bytes, ms, cost_micro_usd, trace_id)
    select timestamptz 'epoch' + at_ms * interval '1 millisecond', account_id, key_id, login_id, device_id, route, status,
      bytes, ms, cost_micro_usd, trace_id
    from unnest(
      ${column((r) => r.at)}::bigint[], ${column((r) => r.accountId)}::uuid[],
      ${column((r) => r.keyId)}::uuid[], ${column((r) => r.loginId ?? null)}::uuid[], ${column((r) => r.deviceId ?? null)}::uuid[], ${column((r) => r.route)}::text[],
      ${column((r) => r.status)}::int[], ${column((r) => r.bytes)}::bigint[], ${column((r) => Math.min(r.ms, mostMs))}::int[],
      ${column((r) => r.costMicroUsd)}::bigint[], ${column((r) => r.traceId)}::text[]
    ) as given (at_ms, account_id, key_id, login_id, device_id, route, status, bytes, ms, cost_micro_usd, trace_id)`;
}
