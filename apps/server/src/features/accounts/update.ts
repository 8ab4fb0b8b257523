import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { changeStanding, checkOperator, recordOf, type SignIns } from './accounts.people.ts';

export const update = (signIns: SignIns) =>
  operation(contract.accounts.update, async (context, { params: { id }, body }) => {
    await checkOperator(context);
    const { actor, by, kernel, db } = context;
    if (body.suspended === true && id === actor.accountId)
      throw new ApiError('forbidden', 'you cannot suspend yourself; another operator can');
    const { tool_level: level, ...rest } = body;
    await changeStanding(kernel, { id, ...rest, tool_level: level === null ? 'l0' : level, by });
    return recordOf(db, signIns, id);
  });
