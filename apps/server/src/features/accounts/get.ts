import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkOperator, recordOf, type SignIns } from './accounts.people.ts';

export const get = (signIns: SignIns) =>
  operation(contract.accounts.get, async (context, { params }) => {
    await checkOperator(context);
    return recordOf(context.db, signIns, params.id);
  });
