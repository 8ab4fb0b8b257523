import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkOperator, recordOf, type SignIns } from './accounts.people.ts';

export const link = (signIns: SignIns) =>
  operation(contract.accounts.link, async (context, { params }) => {
    await checkOperator(context);
    const { id } = await recordOf(context.db, signIns, params.id);
    return { url: await signIns.link(id, context.by) };
  });
