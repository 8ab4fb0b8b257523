import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { type Quota, useOf } from '../../kernel/records/quotas.ts';

/** Every quota with what the account uses of it. */
export const get = (quotas: () => readonly Quota[]): Operation =>
  operation(contract.usage.get, async ({ kernel, db, actor }) => ({
    quotas: await Promise.all(quotas().map((quota) => useOf(kernel.config, db, quota, actor.accountId))),
  }));
