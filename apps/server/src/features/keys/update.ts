import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkTerms, mayChange } from './create.ts';
import { changeKey } from './keys.change.ts';
import { toRecord } from './keys.view.ts';

export const update = operation(contract.keys.update, async (context, { params, body }) => {
  const { actor } = context;
  checkTerms(actor, body, context.clock.now());
  const given = Object.entries(body).filter(([, value]) => value !== undefined);
  return toRecord(
    await changeKey(context.kernel, actor.accountId, params.id, Object.fromEntries(given), mayChange(actor)),
  );
});
