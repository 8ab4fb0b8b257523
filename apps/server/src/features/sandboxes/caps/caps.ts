import type { Backend } from '@svc/sandboxd-api';
import type { Config } from '../../../config.ts';
import type { Actor } from '../../../kernel/base/actor.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import { checkQuota, limitsOf, type Quota } from '../../../kernel/records/quotas.ts';
import { countAll, countLive, memoryOfRunning } from '../sandboxes.sql.ts';

const retryAfter = { headers: { 'retry-after': '10' } };
const remedy = 'pause or destroy one';

/** Memory of an account's running sandboxes. */
export const sandboxMemoryQuota: Quota = {
  name: 'sandbox_memory_mb',
  what: 'MiB of memory in sandboxes that run',
  remedy,
  count: memoryOfRunning,
};

const capOf = (
  name: Quota['name'],
  what: string,
  count: (counts: Awaited<ReturnType<typeof countAll>>) => number,
): Quota => ({
  name,
  what,
  remedy,
  count: async (db, accountId) => count(await countAll(db, accountId)),
});

/** Caps (document 3, Limits): its numbers are the defaults. Refused with codes of their own. */
export const sandboxCaps: readonly Quota[] = [
  capOf('sandboxes', 'sandboxes that run', ({ running }) => running),
  capOf('sandboxes_v2', 'v2 sandboxes that run', ({ v2 }) => v2),
  // Keys cost nothing, so that these two bound nobody by themselves.
  capOf('sandboxes_of_key', 'sandboxes of one key that run', ({ ofKey }) => ofKey),
  capOf('sandboxes_of_forks', 'sandboxes of one key that run, forks among them', ({ ofKey }) => ofKey),
  capOf('sandboxes_paused', 'paused sandboxes', ({ paused }) => paused),
];

/** Throws the 429 of the cap that `more` further running sandboxes would break. Under the account's lock. */
export async function checkCaps(
  config: Config,
  db: Db,
  actor: Pick<Actor, 'accountId' | 'keyId'>,
  more: { backend: Backend; memoryMb: number; forks?: number },
): Promise<void> {
  await checkNumbers(config, db, actor, more);
  await checkQuota(config, db, sandboxMemoryQuota, actor.accountId, more.memoryMb * (more.forks ?? 1));
}

async function checkNumbers(
  config: Config,
  db: Db,
  { accountId, keyId }: Pick<Actor, 'accountId' | 'keyId'>,
  more: { backend: Backend; forks?: number },
): Promise<void> {
  const most = await limitsOf(config, db, accountId, [
    'sandboxes',
    'sandboxes_v2',
    'sandboxes_of_key',
    'sandboxes_of_forks',
  ]);
  const { keyRunning, userRunning, userV2 } = await countLive(db, accountId, keyId);
  const refuse = (message: string): never => {
    throw new ApiError('sandbox_concurrency_limit', message, retryAfter);
  };
  if (userRunning + (more.forks ?? 1) > most.sandboxes)
    refuse(`${most.sandboxes} sandboxes may run at once, all keys together; ${remedy}`);
  if (more.forks !== undefined) {
    if (keyRunning + more.forks <= most.sandboxes_of_forks) return;
    refuse(
      `a fork may not take a key above ${most.sandboxes_of_forks} live sandboxes, and ${keyRunning} are; destroy some or fork fewer`,
    );
  }
  if (keyRunning >= most.sandboxes_of_key)
    refuse(`a key may run ${most.sandboxes_of_key} sandboxes at once; ${remedy}`);
  if (more.backend === 'v2' && userV2 >= most.sandboxes_v2)
    refuse(`${most.sandboxes_v2} v2 sandboxes may run at once, all keys together; ${remedy}`);
}

/** Throws `sandbox_paused_limit` when one more would be too many. Under the account's lock. */
export async function checkPausedCap(config: Config, db: Db, actor: Pick<Actor, 'accountId' | 'keyId'>): Promise<void> {
  const { userPaused } = await countLive(db, actor.accountId, actor.keyId);
  const { sandboxes_paused: most } = await limitsOf(config, db, actor.accountId, ['sandboxes_paused']);
  if (userPaused < most) return;
  throw new ApiError('sandbox_paused_limit', `${most} sandboxes are paused; resume or destroy one`, retryAfter);
}
