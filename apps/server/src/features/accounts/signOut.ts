import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkOperator, recordOf, type SignIns } from './accounts.people.ts';

export const signOut = (signIns: SignIns) =>
  operation(contract.accounts.signOut, async (context, { params }) => {
    await checkOperator(context);
    const { id } = await recordOf(context.db, signIns, params.id);
    return { ended: await signIns.signOut(id, context.by) };
  });
