import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkOperator, inviteAccount, recordOf, type SignIns } from './accounts.people.ts';

export const create = (signIns: SignIns) =>
  operation(contract.accounts.create, async (context, { body }) => {
    await checkOperator(context);
    const { by, kernel, headers } = context;
    const { id, url } = await inviteAccount(kernel, signIns, { ...body, by, language: headers['accept-language'] });
    return { account: await recordOf(context.db, signIns, id), url };
  });
