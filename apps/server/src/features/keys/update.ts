import { contract, defaultKeyName } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkFresh } from '../../kernel/mount/access.ts';
import { changeKey } from './keys.change.ts';
import type { KeyChange, KeyRow } from './keys.sql.ts';
import { checkTerms, defaultLevelOf, isStrongKey, mayChange } from './keys.terms.ts';
import { toRecord } from './keys.view.ts';

export const update = operation(contract.keys.update, async (context, { params, body }) => {
  const { actor, by } = context;
  const { name, tool_level: level, ...rest } = body;
  // Null: that of a key that is made with its scopes, which are known once it is read.
  const terms = { ...rest, tool_level: level ?? undefined };
  checkTerms(actor, terms, context.clock.now());
  const change = { ...terms, name: name === null ? defaultKeyName : name };
  const fields: KeyChange = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const { scopes: newScopes, expires_at: newEnd, models, spend_cap_micro_usd: cap, status } = body;
  const widens = [newScopes, level, newEnd, models, cap].some((one) => one !== undefined) || status === 'active';
  const check = (current: KeyRow): void => {
    mayChange(actor)(current);
    const scopes = newScopes ?? current.scopes;
    if (level === null) fields.tool_level = defaultLevelOf(actor, scopes);
    const reached = fields.tool_level ?? (scopes.includes('sandboxes') ? current.tool_level : undefined);
    // A key that is made so wants the same proof.
    if (widens && isStrongKey({ scopes, tool_level: reached })) checkFresh(actor, context.clock.now());
  };
  const whose = { accountId: actor.accountId, by, check };
  return toRecord(await changeKey(context.kernel, params.id, fields, whose));
});
