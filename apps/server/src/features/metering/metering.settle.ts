import type { Kernel } from '../../kernel/kernel.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { debit } from '../wallet/index.ts';
import { bucketMs, chargeOf } from './metering.rules.ts';
import {
  accountsToSettle,
  firstBucketWithUse,
  insertBucket,
  lockAccount,
  lockUnpaid,
  markPaid,
  monthBefore,
  oldestOpenExec,
  saveSettled,
  useBetween,
} from './metering.sql.ts';

const accountsAtOnce = 100;
const hourMs = 3_600_000;

/** Settles every closed bucket of every account. Any number of gateways may do it at once. */
export async function settleAll(kernel: Kernel): Promise<void> {
  for (;;) {
    const due = await accountsToSettle(kernel.sql, kernel.clock, accountsAtOnce);
    let settled = 0;
    for (const accountId of due) {
      // One account's fault must not hold up the others.
      const done = await settleAccount(kernel, accountId).catch((err: unknown) => {
        kernel.log.error({ err, account: accountId }, 'an account was not settled; it is tried again');
        return false;
      });
      if (done) settled += 1;
    }
    // None: another gateway has them.
    if (settled === 0) return;
  }
}

/** In one transaction, bucket by bucket from where the account was left; false when another gateway does it. */
async function settleAccount(kernel: Kernel, accountId: string): Promise<boolean> {
  const { sql, clock } = kernel;
  return inTransaction(sql, async (tx) => {
    const account = await lockAccount(tx, clock, accountId);
    if (!account) return false;
    const open = await oldestOpenExec(tx, accountId);
    const until = Math.min(Date.parse(account.now), open === undefined ? Number.POSITIVE_INFINITY : Date.parse(open));
    const end = Math.floor(until / bucketMs) * bucketMs;
    let at = account.settled_until;
    while (Date.parse(at) < end) {
      const next = await firstBucketWithUse(tx, accountId, at);
      if (next === undefined || Date.parse(next) >= end) break;
      at = new Date(Math.max(Date.parse(next), Date.parse(at))).toISOString();
      await settleBucket(kernel, tx, accountId, at);
      at = new Date(Date.parse(at) + bucketMs).toISOString();
    }
    const settled = Math.max(end, Date.parse(at));
    await saveSettled(tx, accountId, new Date(settled).toISOString());
    return settled > Date.parse(account.settled_until);
  });
}

async function settleBucket(kernel: Kernel, tx: Db, accountId: string, startsAt: string): Promise<void> {
  const ends = Date.parse(startsAt) + bucketMs;
  const endsAt = new Date(ends).toISOString();
  const use = await useBetween(tx, accountId, startsAt, endsAt);
  // Snapshots are metered by the hour: with its last bucket.
  const pausedByteMs =
    ends % hourMs === 0
      ? (await useBetween(tx, accountId, new Date(ends - hourMs).toISOString(), endsAt)).paused_byte_ms
      : 0;
  const before = await monthBefore(tx, accountId, startsAt);
  const counted = { v1Ms: use.v1_ms, v2Ms: use.v2_ms, pausedByteMs };
  const month = { v1Ms: before.v1_ms, v2Ms: before.v2_ms, pausedByteMs: before.paused_byte_ms };
  const charge = kernel.config.billing ? chargeOf(counted, month) : 0;
  if (use.v1_ms + use.v2_ms + pausedByteMs === 0) return;
  const paid = charge === 0 || (await pay(tx, accountId, startsAt, charge));
  await insertBucket(tx, kernel.clock, { accountId, startsAt, ...counted, charge, paid });
}

/** Takes a bucket's charge from the wallet once; false when it does not hold enough. */
function pay(db: Db, accountId: string, startsAt: string, charge: number): Promise<boolean> {
  const at = new Date(Date.parse(startsAt)).toISOString();
  return debit(db, {
    accountId,
    amountMicroEur: charge,
    sourceKey: `sandbox_charge:${accountId}:${at}`,
    note: `sandboxes, ten minutes from ${at}`,
  });
}

/** Pays what is owed, oldest first, as far as the wallet goes; answers what is still owed. */
export async function payUnpaid(kernel: Kernel, accountId: string): Promise<number> {
  return inTransaction(kernel.sql, async (tx) => {
    let owed = 0;
    for (const bucket of await lockUnpaid(tx, accountId)) {
      if (owed === 0 && (await pay(tx, accountId, bucket.starts_at, bucket.charge_micro_eur))) {
        await markPaid(tx, kernel.clock, accountId, bucket.starts_at);
      } else owed += bucket.charge_micro_eur;
    }
    return owed;
  });
}
