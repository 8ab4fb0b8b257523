import { contract, type ToolLevel, toolLevels } from '@svc/contract';
import { writeAct } from '../../kernel/audit.ts';
import { invalidApiKey } from '../../kernel/http/access.ts';
import type { Actor } from '../../kernel/http/actor.ts';
import { ApiError, badRequest } from '../../kernel/http/errors.ts';
import { checkQuota } from '../../kernel/quotas.ts';
import { operation } from '../../kernel/feature.ts';
import { bindTo } from '../devices/index.ts';
import { issueKey } from './keys.issue.ts';
import { scopesWithin, termsOf } from './keys.rules.ts';
import { isUsable, type KeyRow, keysQuota, lockKey } from './keys.sql.ts';
import { toRecord } from './keys.view.ts';

export const create = operation(contract.keys.create, async (context, { body }) => {
  const { actor, by } = context;
  checkTerms(actor, body, context.clock.now());
  const scopes = body.scopes ?? actor.scopes;
  const deviceId = body.device_id;
  if (deviceId !== undefined && !scopes.some((scope) => scope === '*' || scope.endsWith(':serve'))) {
    const message = 'needs a key with the scope hosts:serve or scheduler:serve';
    throw badRequest(`device_id: ${message}`, { device_id: [message] });
  }
  return context.transaction(async (tx) => {
    await checkQuota(context.kernel.config, tx, keysQuota, actor.accountId);
    // It may have been revoked with its children since it was let in: this one would outlive it unseen.
    if (!(await isUsable(tx, actor.keyId))) throw invalidApiKey();
    const { id, text } = await issueKey(context.kernel, tx, {
      accountId: actor.accountId,
      name: body.name,
      scopes,
      toolLevel: body.tool_level ?? actor.toolLevel,
      models: body.models ?? actor.models,
      spendCapMicroUsd: body.spend_cap_micro_usd ?? actor.spendCapMicroUsd,
      expiresAt: body.expires_at ?? actor.expiresAt,
      parentId: actor.keyId,
    });
    if (deviceId !== undefined) {
      const takesOver = actor.scopes.includes('*');
      await bindTo(tx, { accountId: actor.accountId, deviceId, keyId: id, takesOver });
    }
    const row = await lockKey(tx, actor.accountId, id);
    if (!row) throw new Error('a key just inserted is gone');
    await writeAct(tx, { accountId: actor.accountId, by, action: 'keys.create', subject: id, details: termsOf(row) });
    return { ...toRecord(row), key: text };
  });
});

/** When a key without an end ends. */
const never = '9999-01-01T00:00:00Z';

/** What a caller asks a key to have; null lifts a limit. */
interface Wanted {
  scopes?: string[] | undefined;
  tool_level?: ToolLevel | undefined;
  models?: string[] | null | undefined;
  spend_cap_micro_usd?: number | null | undefined;
  expires_at?: string | null | undefined;
}

/** 403 when a key would get more than the one that creates or changes it has; 400 when it would be born expired. */
export function checkTerms(actor: Actor, wanted: Wanted, now: number): void {
  const { models, spendCapMicroUsd, expiresAt } = actor;
  const refuse = (what: string): never => {
    throw new ApiError('forbidden', `a key cannot give ${what} beyond its own`);
  };
  if (wanted.scopes && !scopesWithin(wanted.scopes, actor.scopes)) refuse('scopes');
  if (wanted.tool_level && toolLevels.indexOf(wanted.tool_level) > toolLevels.indexOf(actor.toolLevel)) {
    refuse('a tool level');
  }
  if (models && wanted.models !== undefined && !wanted.models?.every((model) => models.includes(model)))
    refuse('models');
  const cap = wanted.spend_cap_micro_usd;
  if (spendCapMicroUsd !== undefined && cap !== undefined && (cap ?? Infinity) > spendCapMicroUsd)
    refuse('a spend cap');
  const expiry = wanted.expires_at;
  if (expiresAt !== undefined && expiry !== undefined && Date.parse(expiry ?? never) > Date.parse(expiresAt)) {
    refuse('a life');
  }
  if (expiry && Date.parse(expiry) <= now) {
    throw badRequest('expires_at: must be in the future', { expires_at: ['must be in the future'] });
  }
}

/** 403 for a change of a key that the caller could not have made: it may do more. Its own it may always change. */
export const mayChange =
  (actor: Actor) =>
  (current: KeyRow): void => {
    const { models, spendCapMicroUsd: cap = Infinity, expiresAt } = actor;
    const isWithin =
      scopesWithin(current.scopes, actor.scopes) &&
      toolLevels.indexOf(current.tool_level) <= toolLevels.indexOf(actor.toolLevel) &&
      (models === undefined || (current.models?.every((model) => models.includes(model)) ?? false)) &&
      (current.spend_cap_micro_usd ?? Infinity) <= cap &&
      Date.parse(current.expires_at ?? never) <= Date.parse(expiresAt ?? never);
    if (isWithin || current.id === actor.keyId) return;
    throw new ApiError('forbidden', 'this key may do less than the one it would change; use a key that may do as much');
  };
