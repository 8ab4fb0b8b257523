import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkOperator, inviteAccount, recordOf, type SignIns } from './accounts.people.ts';

export const create = (signIns: SignIns) =>
  operation(contract.accounts.create, async (context, { body }) => {
    await checkOperator(context);
    const { by, headers } = context;
    const person = { ...body, by, language: headers['accept-language'] };
    // In one transaction with what is answered: when it is not there, nothing is done, and a repeat does it.
    return context.transaction(async (tx) => {
      const { id, url } = await inviteAccount(tx, signIns, person);
      return { account: await recordOf(tx, signIns, id), url };
    });
  });
