import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listKeys } from './keys.sql.ts';
import { toRecord } from './keys.view.ts';

export const list = operation(contract.keys.list, async (context) => ({
  keys: (await listKeys(context.db, context.actor.accountId)).map(toRecord),
}));
