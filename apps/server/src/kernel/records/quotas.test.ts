import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { loadConfig } from '../../config.ts';
import { masterKey } from '../../testing.ts';
import { ApiError } from '../base/errors.ts';
import { openTestPool } from '../testing.ts';
import { checkQuota, type Quota } from './quotas.ts';

test('a quota of the month says when the next one begins, others when to look again', async () => {
  await using pool = await openTestPool(1);
  const config = loadConfig({}, { SVC_MASTER_KEY: masterKey });
  const quota: Quota = { name: 'prompts', remedy: 'wait', count: () => Promise.resolve(20_000) };
  const refusal = async (asked: Quota): Promise<number> => {
    const error = await checkQuota(config, pool.sql, asked, randomUUID()).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof ApiError && error.code === 'quota_exceeded');
    return Number(error.headers?.['retry-after']);
  };
  assert.equal(await refusal(quota), 3_600);
  const seconds = await refusal({ ...quota, resets: 'month' });
  const now = new Date();
  const left = (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime()) / 1000;
  // The month may end between the two looks.
  assert.ok(Math.abs(seconds - left) < 600 || left > 2_000_000, `${seconds} of ${left}`);
});
