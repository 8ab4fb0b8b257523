import type { Config } from '../../config.ts';
import type { QuotaName } from '../../config.quotas.ts';
import type { Db, Fragment } from '../db/db.ts';
import { ApiError } from '../base/errors.ts';

/** A kind of thing of which an account has a bounded number. Its feature counts, and checks before it adds one. */
export interface Quota {
  readonly name: QuotaName;
  /** The counted things in the words of a refusal, unless the name says it. */
  readonly what?: string;
  /** In the words of a refusal: what to do about it. */
  readonly remedy: string;
  readonly count: (db: Db, accountId: string) => Promise<number>;
  /** `month`: counted anew from the first of each month (UTC); a refusal says when that is. If unset: never. */
  readonly resets?: 'month';
}

/** How much of a quota an account uses. */
interface QuotaUse {
  name: QuotaName;
  used: number;
  limit: number;
}

/**
 * Throws 429 `quota_exceeded` when the account may not have one more, or `more` of what is counted. In a transaction it is exact: those that add at
 * the same time go one after the other.
 */
export async function checkQuota(config: Config, db: Db, quota: Quota, accountId: string, more = 1): Promise<void> {
  await lockQuota(db, quota, accountId);
  const { used, limit } = await useOf(config, db, quota, accountId);
  if (used + more <= limit) return;
  const message = `this account may have ${limit} ${quota.what ?? quota.name}, and has ${used}; ${quota.remedy}`;
  const retryAfter = quota.resets === undefined ? untilLooked : await secondsOfMonth(db);
  throw new ApiError('quota_exceeded', message, {
    headers: { 'x-should-retry': 'false', 'retry-after': String(retryAfter) },
  });
}

/** Seconds after which a quota without a period may be tried again: somebody has to delete something first. */
const untilLooked = 3_600;

/** Seconds until the month ends (UTC), at least 1; of the database's clock, the only one that all gateways share. */
async function secondsOfMonth(db: Db): Promise<number> {
  const [row] = await db<{ seconds: number }[]>`
    select greatest(1, ceil(extract(epoch from
      (date_trunc('month', now(), 'UTC') + interval '1 month' - now()))))::int as seconds`;
  return row?.seconds ?? untilLooked;
}

/** Holds until the transaction ends: nothing is added to what the quota counts. */
export async function lockQuota(db: Db, quota: Quota, accountId: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`quota:${quota.name}:${accountId}`}, 0))`;
}

/** How much of a quota the account uses: the limit is the account's own if it has one, else that of the installation. */
export async function useOf(config: Config, db: Db, quota: Quota, accountId: string): Promise<QuotaUse> {
  const [own] = await db<{ most: number }[]>`
    select most from kernel.quotas where account_id = ${accountId} and name = ${quota.name}`;
  const used = await quota.count(db, accountId);
  return { name: quota.name, used, limit: own?.most ?? config.quotas[quota.name] };
}

/** Limits of an account, its own or those of the installation. */
export async function limitsOf<N extends QuotaName>(
  config: Config,
  db: Db,
  accountId: string,
  names: readonly N[],
): Promise<Readonly<Record<N, number>>> {
  const own = await db<{ name: QuotaName; most: number }[]>`
    select name, most from kernel.quotas where account_id = ${accountId} and name = any(${[...names]})`;
  const found = new Map(own.map(({ name, most }) => [name, most]));
  return Object.fromEntries(names.map((name) => [name, found.get(name) ?? config.quotas[name]])) as Record<N, number>;
}

/** The same for one, as an expression. */
export const limitExpression = (config: Config, db: Db, accountId: string, name: QuotaName): Fragment => db`
    coalesce((select most from kernel.quotas where account_id = ${accountId} and name = ${name}),
      ${config.quotas[name]}::bigint)`;

/** Gives an account a limit of its own, or with null that of the installation again. */
export async function setQuota(db: Db, accountId: string, name: QuotaName, most: number | null): Promise<void> {
  if (most === null) await db`delete from kernel.quotas where account_id = ${accountId} and name = ${name}`;
  else
    await db`
      insert into kernel.quotas (account_id, name, most) values (${accountId}, ${name}, ${most})
      on conflict (account_id, name) do update set most = excluded.most`;
}
