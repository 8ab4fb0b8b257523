import type { Locale } from './locale.ts';
import { enScopes } from './scopes.en.ts';
import { roScopes } from './scopes.ro.ts';

/** The headings under which a person is asked, in this order. */
export const scopeGroups = ['read', 'change', 'run'] as const;
export type ScopeGroup = (typeof scopeGroups)[number];

/** Scopes that run something, cost something or give power to others. */
const runs: ReadonlySet<string> = new Set([
  '*',
  'keys',
  'hosts',
  'hosts:exec',
  'schedules',
  'scheduler',
  'sandboxes',
  'chat',
  'messages',
  'responses',
  'embeddings',
  'audio',
  'realtime',
  'tokens',
  'prompts',
  'sessions',
  'tools',
  'environments',
  'environments:terminal',
  'mcp',
]);

/** Scopes without `:read` that only read. */
const reads: ReadonlySet<string> = new Set([
  'openid',
  'email',
  'profile',
  'offline_access',
  'usage',
  'wallet',
  'system',
  'audit',
  'models',
  'receipt',
]);

/** Scopes that exist for every feature alike, and let nobody do anything in these. */
const grantNothing: ReadonlySet<string> = new Set([
  'chat:read',
  'messages:read',
  'responses:read',
  'embeddings:read',
  'audio:read',
  'realtime:read',
  'tokens:read',
  'tools:read',
  'mcp:read',
  'me',
  'me:read',
]);

/** Whether a scope lets whoever has it do nothing at all. */
export const grantsNothing = (scope: string): boolean => grantNothing.has(scope);

const catalogue: Readonly<Record<Locale, Readonly<Record<string, string>>>> = { en: enScopes, ro: roScopes };

/**
 * A scope as words for a person, and its group. A scope that the catalogue lacks is shown as it is, under `run`, so that
 * nothing unknown looks harmless; `isKnown` is false then.
 */
export function scopeWords(scope: string, locale: Locale): { text: string; group: ScopeGroup; isKnown: boolean } {
  const words = catalogue[locale];
  const text = Object.hasOwn(words, scope) ? words[scope] : undefined;
  return { text: text ?? scope, group: text === undefined ? 'run' : groupOf(scope), isKnown: text !== undefined };
}

function groupOf(scope: string): ScopeGroup {
  if (scope.endsWith(':read') || reads.has(scope)) return 'read';
  return runs.has(scope) || scope.endsWith(':serve') ? 'run' : 'change';
}
