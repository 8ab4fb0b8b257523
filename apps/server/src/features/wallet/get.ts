import { contract } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { sumEntries } from './wallet.sql.ts';

/** Use of an account that its balance did not cover, in micro-euro; the feature `metering` knows it. */
export type UnpaidOf = (db: Db, accountId: string) => Promise<number>;

export const get = (unpaidOf: UnpaidOf): Operation =>
  operation(contract.wallet.get, async ({ db, kernel, actor: { accountId } }) => {
    const [balance, unpaid] = await Promise.all([sumEntries(db, accountId), unpaidOf(db, accountId)]);
    return { balance_micro_eur: balance, unpaid_micro_eur: unpaid, billing: kernel.config.billing };
  });
