import { slugPattern } from '@svc/contract';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import { checkQuota, lockQuota } from '../../kernel/records/quotas.ts';
import { isSlugTaken, ownersOf } from './heartbeats.keys.sql.ts';
import { monitorChange } from './heartbeats.changes.ts';
import { heartbeatsQuota, insertMonitor } from './heartbeats.sql.ts';
import { hashToken, newToken } from './heartbeats.token.ts';

/** The times that healthchecks.io gives a check that a ping made: a day, and an hour of grace. */
const provisioned = { periodS: 86_400, graceS: 3_600, cron: null, tz: null };

/** Throws 409 when another monitor of the account has the slug. Until the transaction ends nobody else takes it. */
export async function claimSlug(db: Db, accountId: string, slug: string, id: string | null = null): Promise<void> {
  await lockQuota(db, heartbeatsQuota, accountId);
  if (await isSlugTaken(db, accountId, slug, id)) {
    throw new ApiError('slug_taken', `another monitor has the slug ${slug}`);
  }
}

/**
 * Makes the monitor that a ping names, unless another ping did meanwhile; false for an unknown key, or one whose account may not
 * run anything. The owner of a ping key learns nothing of the account: not even how many monitors it may have.
 */
export async function provision(kernel: Kernel, keyHash: Buffer, slug: string): Promise<boolean> {
  const { config, clock, keyring } = kernel;
  return inTransaction(kernel.sql, async (tx) => {
    const [owner] = await ownersOf(tx, [keyHash]);
    if (!owner?.may_run) return false;
    const accountId = owner.account_id;
    if (!slugPattern.test(slug)) {
      const message = 'must be 3 to 40 small letters, digits and hyphens';
      throw badRequest(`slug: ${message}`, { slug: [message] });
    }
    await lockQuota(tx, heartbeatsQuota, accountId);
    if (await isSlugTaken(tx, accountId, slug, null)) return true;
    await checkQuota(config, tx, heartbeatsQuota, accountId).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === 'quota_exceeded')) throw error;
      // No `retry-after`: curl would wait that long, and the job with it.
      const headers = { 'x-should-retry': 'false' };
      throw new ApiError('quota_exceeded', 'this account has as many monitors as it may; delete one', { headers });
    });
    const tokenHash = hashToken(keyring, newToken()) as Buffer;
    const monitor = await insertMonitor(tx, clock, {
      accountId,
      name: slug,
      slug,
      tags: [],
      ...provisioned,
      tokenHash,
    });
    await kernel.feed.record(tx, [monitorChange('created', monitor)]);
    return true;
  });
}
