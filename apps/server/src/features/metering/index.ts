import type { Manifest } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { systemClock } from '../../kernel/base/clock.ts';
import type { Fragment } from '../../kernel/db/db.ts';
import { limitExpression, limitsOf, type Quota } from '../../kernel/records/quotas.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { payUnpaid } from './metering.settle.ts';
import { fullPriceOf } from './metering.rules.ts';
import { endRunning, execMsToday, msToday, owed, unpaidOf, useOfSandboxes } from './metering.sql.ts';

export {
  beginningSpan,
  endingSpan,
  endSpan,
  endSpansOf,
  insertSpan,
  removingSpan,
  type SpanKind,
  unpaidOf,
} from './metering.sql.ts';

/** Seconds of commands in a day (UTC; document 3, Limits). Refused with a code of its own. */
const dailyQuota: Quota = {
  name: 'sandbox_seconds',
  what: 'seconds of commands in sandboxes today',
  remedy: 'the count starts anew at midnight UTC',
  count: async (db, accountId) => Math.floor((await execMsToday(db, systemClock, accountId)) / 1_000),
};

/**
 * What sandboxes have cost so far, in micro-euro and at the full price: which of an account's are free is settled for all of them
 * together. Empty where nothing is charged.
 */
export async function costsOf(
  { sql, clock, config }: Pick<Kernel, 'sql' | 'clock' | 'config'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (!config.billing || ids.length === 0) return new Map();
  const rows = await useOfSandboxes(sql, clock, ids);
  return new Map(
    rows.map(({ sandbox_id: id, v1_ms: v1Ms, v2_ms: v2Ms, paused_byte_ms: pausedByteMs }) => [
      id,
      fullPriceOf({ v1Ms, v2Ms, pausedByteMs }),
    ]),
  );
}

/** Throws `insufficient_balance` while a bucket of the account is unpaid and its wallet cannot pay it. */
export async function checkPaid(kernel: Kernel, accountId: string): Promise<void> {
  if (!kernel.config.billing || (await unpaidOf(kernel.sql, accountId)) === 0) return;
  const left = await payUnpaid(kernel, accountId);
  if (left === 0) return;
  throw new ApiError('insufficient_balance', `earlier use is unpaid: add at least ${left} micro-euro to the wallet`, {
    beside: { unpaid_micro_eur: left },
  });
}

/** Throws `sandbox_daily_limit` once commands of the account took as long today as they may. */
export async function checkDaily(kernel: Kernel, accountId: string): Promise<void> {
  const { sql, clock, config } = kernel;
  const { sandbox_seconds: most } = await limitsOf(config, sql, accountId, ['sandbox_seconds']);
  if ((await execMsToday(sql, clock, accountId)) < most * 1_000) return;
  const dayMs = 24 * 3_600_000;
  const untilMidnight = Math.ceil((dayMs - (clock.now() % dayMs)) / 1000);
  throw new ApiError('sandbox_daily_limit', `commands took ${most} s today; the count starts anew at midnight UTC`, {
    headers: { 'retry-after': String(untilMidnight) },
  });
}

/** The checks of `checkPaid` and `checkDaily`, as a condition of a statement. */
export function mayRun({ sql, clock, config }: Kernel, accountId: string): Fragment {
  const isPaid = config.billing ? sql`${owed(sql, accountId)} = 0` : sql`true`;
  const mostSeconds = limitExpression(config, sql, accountId, dailyQuota.name);
  return sql`(${isPaid} and ${msToday(sql, clock, accountId)} < ${mostSeconds} * 1000)`;
}

/** The feature without a running platform. */
export const meteringManifest: Manifest = {
  name: 'metering',
  data: {
    tables: ['metering.spans', 'metering.days', 'metering.buckets', 'metering.accounts'],
  },
  quotas: [dailyQuota],
  async restored({ db, backedUpAt }) {
    await endRunning(db, backedUpAt.iso);
    return {};
  },
};
