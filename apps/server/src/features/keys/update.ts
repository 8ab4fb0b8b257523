import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkTerms, mayChange } from './create.ts';
import { changeKey } from './keys.change.ts';
import { toRecord } from './keys.view.ts';

export const update = operation(contract.keys.update, async (context, { params, body }) => {
  const { actor, by } = context;
  checkTerms(actor, body, context.clock.now());
  const given = Object.entries(body).filter(([, value]) => value !== undefined);
  const whose = { accountId: actor.accountId, by, check: mayChange(actor) };
  return toRecord(await changeKey(context.kernel, params.id, Object.fromEntries(given), whose));
});
