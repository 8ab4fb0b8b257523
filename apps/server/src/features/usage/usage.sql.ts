import type { Db, Fragment } from '../../kernel/db/db.ts';

/** What requests are put together by. */
type GroupBy = 'day' | 'feature' | 'key' | 'device';

/** The requests of a group. */
interface GroupRow {
  group: string;
  requests: number;
  errors: number;
  bytes: number;
  cost_micro_usd: number;
  exec_seconds: number;
}

const groups: Readonly<Record<GroupBy, (db: Db) => Fragment>> = {
  day: (db) => db`to_char(at at time zone 'UTC', 'YYYY-MM-DD')`,
  // Kinds that were counted together beyond their bound have the route `*`.
  feature: (db) => db`case route when '*' then 'other' else split_part(route, '.', 1) end`,
  key: (db) => db`key_id::text`,
  device: (db) => db`coalesce(device_id::text, 'none')`,
};

/** Operations that run code in sandboxes while their request lasts. */
const running = ['sandboxes.exec', 'sandboxes.run', 'sandboxes.runCode'];

/** Requests of an account from an instant to another one: days newest first, other groups the largest first. */
export async function sumRequests(
  db: Db,
  accountId: string,
  { from, to, by, most }: { from: string; to: string; by: GroupBy; most: number },
): Promise<GroupRow[]> {
  return db<GroupRow[]>`
    select ${groups[by](db)} as "group", sum(requests)::bigint as requests,
      coalesce(sum(requests) filter (where status >= 400), 0)::bigint as errors, sum(bytes)::bigint as bytes,
      sum(cost_micro_usd)::bigint as cost_micro_usd,
      floor(coalesce(sum(ms) filter (where route = any(${running})), 0) / 1000)::bigint as exec_seconds
    from kernel.requests_view
    where account_id = ${accountId} and at >= ${from}::text::timestamptz and at < ${to}::text::timestamptz
    group by 1 order by ${by === 'day' ? db`1 desc` : db`2 desc, 1`} limit ${most}`;
}
