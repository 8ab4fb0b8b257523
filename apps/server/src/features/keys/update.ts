import { contract, defaultKeyName } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkFresh } from '../../kernel/mount/access.ts';
import { changeKey } from './keys.change.ts';
import type { KeyRow } from './keys.sql.ts';
import { checkTerms, isStrongKey, mayChange } from './keys.terms.ts';
import { toRecord } from './keys.view.ts';

export const update = operation(contract.keys.update, async (context, { params, body }) => {
  const { actor, by } = context;
  const { name, tool_level: level, ...rest } = body;
  const newLevel = level === null ? actor.toolLevel : level;
  const terms = { ...rest, tool_level: newLevel };
  checkTerms(actor, terms, context.clock.now());
  const change = { ...terms, name: name === null ? defaultKeyName : name };
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const { scopes: newScopes, expires_at: newEnd, models, spend_cap_micro_usd: cap, status } = body;
  const widens = [newScopes, newLevel, newEnd, models, cap].some((one) => one !== undefined) || status === 'active';
  const check = (current: KeyRow): void => {
    mayChange(actor)(current);
    const scopes = newScopes ?? current.scopes;
    const reached = newLevel ?? (scopes.includes('sandboxes') ? current.tool_level : undefined);
    // A key that is made so wants the same proof.
    if (widens && isStrongKey({ scopes, tool_level: reached })) checkFresh(actor, context.clock.now());
  };
  const whose = { accountId: actor.accountId, by, check };
  return toRecord(await changeKey(context.kernel, params.id, Object.fromEntries(given), whose));
});
