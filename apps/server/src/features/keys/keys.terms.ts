import { isStrong, type ToolLevel, toolLevels } from '@svc/contract';
import type { Actor } from '../../kernel/base/actor.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import { scopesWithin } from './keys.rules.ts';
import type { KeyRow } from './keys.sql.ts';

/** When a key without an end ends. */
const never = '9999-01-01T00:00:00Z';

/** The terms that a caller wants for a key; null lifts a limit. */
interface Wanted {
  scopes?: string[] | undefined;
  tool_level?: ToolLevel | undefined;
  models?: string[] | null | undefined;
  spend_cap_micro_usd?: number | null | undefined;
  expires_at?: string | null | undefined;
}

/** Whether a person must prove anew who they are before they make such a key, or make one such. */
export const isStrongKey = ({ scopes = [], tool_level: level }: Pick<Wanted, 'scopes' | 'tool_level'>): boolean =>
  level === 'l3_sandbox' || scopes.some(isStrong);

/** 403 when a key would get more than the one that creates or changes it has; 400 when it would be born expired. */
export function checkTerms(actor: Actor, wanted: Wanted, now: number): void {
  const { models, spendCapMicroUsd } = actor;
  const isPerson = actor.kind === 'login';
  // What a person makes is not over when they sign out.
  const expiresAt = isPerson ? undefined : actor.expiresAt;
  const refuse = (what: string): never => {
    throw new ApiError('forbidden', `a key cannot give ${what} beyond its own`);
  };
  if (wanted.scopes && !isPerson && !scopesWithin(wanted.scopes, actor.scopes, actor.connectionId !== undefined))
    refuse('scopes');
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
    if (actor.kind === 'login') return;
    const { models, spendCapMicroUsd: cap = Infinity, expiresAt } = actor;
    const isWithin =
      scopesWithin(current.scopes, actor.scopes, actor.connectionId !== undefined) &&
      toolLevels.indexOf(current.tool_level) <= toolLevels.indexOf(actor.toolLevel) &&
      (models === undefined || (current.models?.every((model) => models.includes(model)) ?? false)) &&
      (current.spend_cap_micro_usd ?? Infinity) <= cap &&
      Date.parse(current.expires_at ?? never) <= Date.parse(expiresAt ?? never);
    if (isWithin || current.id === actor.keyId) return;
    throw new ApiError('forbidden', 'this key may do less than the one it would change; use a key that may do as much');
  };
