import type { Db } from '../db/db.ts';

/** One request, as far as it is counted. */
type Counted = Pick<UsageCount, 'accountId' | 'keyId' | 'route' | 'status' | 'bytes' | 'ms'> & {
  /** Milliseconds since the epoch. */
  at: number;
  costMicroUsd: number;
};

/** Requests of a minute that cost nothing, of one key, route and status. */
export interface UsageCount {
  /** Milliseconds since the epoch. */
  minute: number;
  accountId: string;
  keyId: string;
  /** `operationId`; `*` stands for further ones. */
  route: string;
  status: number;
  requests: number;
  bytes: number;
  ms: number;
}

const minuteMs = 60_000;
/** Requests of an account that have a record of their own, in a minute: 33 MB a day at most. */
const mostRecords = 120;
/** Kinds of requests of an account that are counted apart, in a minute. */
const mostKinds = 500;

/** Tells requests that have a record of their own from those that are counted. */
export class UsageCounts {
  #minute = 0;
  readonly #records = new Map<string, number>();
  readonly #kinds = new Map<string, Set<string>>();
  #counts = new Map<string, UsageCount>();

  /** Counts the request unless it costs, or is among the first of its account in this minute; answers whether it did. */
  take(usage: Counted): boolean {
    if (usage.costMicroUsd > 0) return false;
    const minute = Math.floor(usage.at / minuteMs) * minuteMs;
    if (minute !== this.#minute) this.#begin(minute);
    const { accountId, keyId, status } = usage;
    const records = (this.#records.get(accountId) ?? 0) + 1;
    this.#records.set(accountId, records);
    if (records <= mostRecords) return false;
    const route = this.#routeOf(usage);
    const name = [accountId, keyId, route, status].join();
    const count = this.#counts.get(name) ?? { minute, accountId, keyId, route, status, requests: 0, bytes: 0, ms: 0 };
    count.requests += 1;
    count.bytes += usage.bytes;
    count.ms += usage.ms;
    this.#counts.set(name, count);
    return true;
  }

  /** The counts since the last call. */
  drain(): UsageCount[] {
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    return counts;
  }

  #begin(minute: number): void {
    this.#minute = minute;
    this.#records.clear();
    this.#kinds.clear();
    // Counts of the minute before stay apart, under names that no request has.
    this.#counts = new Map([...this.#counts.values()].map((count, at) => [String(at), count]));
  }

  #routeOf({ accountId, keyId, route, status }: Counted): string {
    const kinds = this.#kinds.get(accountId) ?? new Set();
    this.#kinds.set(accountId, kinds);
    const kind = [keyId, route, status].join();
    if (kinds.has(kind)) return route;
    if (kinds.size >= mostKinds) return '*';
    kinds.add(kind);
    return route;
  }
}

/** Adds to the counts of their minutes. */
export async function writeCounts(sql: Db, counts: readonly UsageCount[]): Promise<void> {
  await sql`
    insert into kernel.usage_counts as u (minute, account_id, key_id, route, status, requests, bytes, ms)
    select to_timestamp(c.minute / 1000.0), c."accountId", c."keyId", c.route, c.status,
      sum(c.requests), sum(c.bytes), sum(c.ms)
    from json_to_recordset(${JSON.stringify(counts)}::json) as c(minute bigint, "accountId" uuid, "keyId" uuid,
      route text, status int, requests bigint, bytes bigint, ms bigint)
    group by 1, 2, 3, 4, 5
    on conflict (minute, account_id, key_id, route, status) do update
      set requests = u.requests + excluded.requests, bytes = u.bytes + excluded.bytes, ms = u.ms + excluded.ms`;
}
