import { contract, defaultKeyName } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkFresh } from '../../kernel/mount/access.ts';
import { checkTerms, isStrongKey, mayChange } from './keys.terms.ts';
import { changeKey } from './keys.change.ts';
import type { KeyRow } from './keys.sql.ts';
import { toRecord } from './keys.view.ts';

export const update = operation(contract.keys.update, async (context, { params, body }) => {
  const { actor, by } = context;
  checkTerms(actor, body, context.clock.now());
  const { name, ...terms } = body;
  const change = { ...terms, name: name === null ? defaultKeyName : name };
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const {
    scopes: newScopes,
    tool_level: newLevel,
    expires_at: newEnd,
    models,
    spend_cap_micro_usd: cap,
    status,
  } = body;
  const widens = [newScopes, newLevel, newEnd, models, cap].some((one) => one !== undefined) || status === 'active';
  const check = (current: KeyRow): void => {
    mayChange(actor)(current);
    const scopes = newScopes ?? current.scopes;
    const level = newLevel ?? (scopes.includes('sandboxes') ? current.tool_level : undefined);
    // A key that is made so wants the same proof.
    if (widens && isStrongKey({ scopes, tool_level: level })) checkFresh(actor, context.clock.now());
  };
  const whose = { accountId: actor.accountId, by, check };
  return toRecord(await changeKey(context.kernel, params.id, Object.fromEntries(given), whose));
});
