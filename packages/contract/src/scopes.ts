/** Features whose routes need a key, as scopes name them; `index.ts` fails to compile when one is missing. */
export const scopedFeatures = [
  'keys',
  'devices',
  'machines',
  'hosts',
  'notifications',
  'heartbeats',
  'schedules',
  'scheduler',
  'sandboxes',
  'usage',
  'wallet',
  'audit',
  'chat',
  'messages',
  'responses',
  'embeddings',
  'models',
  'receipt',
  'audio',
  'realtime',
  'tokens',
  'sessions',
  'prompts',
  'tools',
  'uploads',
  'transcripts',
  'projects',
  'environments',
  'mcp',
  'connections',
  'me',
  'accounts',
  'overview',
  'system',
] as const;
export type ScopedFeature = (typeof scopedFeatures)[number];

/**
 * Scopes of single routes, which name them in `scopes`. To serve as a host is another right than to command hosts: no
 * `<feature>` includes a `:serve`, only `*` does.
 */
export const ownScopes = [
  'hosts:exec',
  'hosts:serve',
  'scheduler:serve',
  'sessions:serve',
  'environments:serve',
  'environments:terminal',
] as const;

/** Everything, a feature, a feature for reading (GET), or one of the scopes above. */
export type Scope = '*' | ScopedFeature | `${ScopedFeature}:read` | (typeof ownScopes)[number];

/** Every scope that a key may have. */
export const scopeNames: readonly [Scope, ...Scope[]] = [
  '*',
  ...scopedFeatures.flatMap((feature) => [
    feature,
    `${feature}:read` as const,
    ...ownScopes.filter((scope) => scope.startsWith(`${feature}:`)),
  ]),
];

/** What a signed-in person may do, and what they ask for to be done later: everything but to serve as a host. */
export const scopesOfPerson: readonly Scope[] = scopeNames.filter(
  (scope) => scope !== '*' && !scope.endsWith(':serve') && !scope.endsWith(':read'),
);
