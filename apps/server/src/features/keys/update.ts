import { contract, defaultKeyName } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkTerms, mayChange } from './keys.terms.ts';
import { changeKey } from './keys.change.ts';
import { toRecord } from './keys.view.ts';

export const update = operation(contract.keys.update, async (context, { params, body }) => {
  const { actor, by } = context;
  checkTerms(actor, body, context.clock.now());
  const { name, ...terms } = body;
  const change = { ...terms, name: name === null ? defaultKeyName : name };
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const whose = { accountId: actor.accountId, by, check: mayChange(actor) };
  return toRecord(await changeKey(context.kernel, params.id, Object.fromEntries(given), whose));
});
