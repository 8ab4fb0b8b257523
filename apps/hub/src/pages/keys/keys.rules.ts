/** Scopes of common keys; `own`: chosen one by one. */
export const presets = {
  monitors: ['heartbeats:read'],
  read: ['overview:read', 'heartbeats:read', 'schedules:read', 'scheduler:read', 'notifications:read', 'hosts:read'],
  schedules: ['schedules', 'scheduler', 'heartbeats'],
  models: ['chat', 'messages', 'responses', 'embeddings', 'models'],
  sandboxes: ['sandboxes'],
  all: ['*'],
  own: [],
} as const satisfies Record<string, readonly string[]>;
export type PresetName = keyof typeof presets;

/** How long a key may live. */
export const lives = ['day', 'month', 'year', 'never'] as const;
const lifeMs: Record<string, number> = { day: 86_400_000, month: 30 * 86_400_000, year: 365 * 86_400_000 };

/** When a key of that life ends; undefined: never. */
export function lifeEnd(life: string, nowMs: number): string | undefined {
  const ms = lifeMs[life];
  return ms === undefined ? undefined : new Date(nowMs + ms).toISOString();
}

/** The headings under which scopes stand, with the features of each. */
const areas = {
  alerts: ['overview', 'notifications'],
  monitors: ['heartbeats'],
  schedules: ['schedules', 'scheduler'],
  machines: ['machines', 'hosts', 'devices'],
  sandboxes: ['sandboxes'],
  environments: ['projects', 'environments'],
  agents: ['sessions', 'prompts'],
  transcripts: ['transcripts', 'uploads'],
  models: [
    'chat',
    'messages',
    'responses',
    'embeddings',
    'models',
    'receipt',
    'audio',
    'realtime',
    'tools',
    'mcp',
    'tokens',
  ],
  account: ['keys', 'connections', 'usage', 'wallet', 'audit', 'accounts', 'system'],
} as const satisfies Record<string, readonly string[]>;
type AreaName = keyof typeof areas;
/** In this order. */
export const areaNames = Object.keys(areas) as AreaName[];

/** The heading of a scope; of one that no heading has, the account's. */
export const areaOf = (scope: string): AreaName => {
  const [feature = ''] = scope.split(':');
  return areaNames.find((name) => (areas[name] as readonly string[]).includes(feature)) ?? 'account';
};

/** What only operators may do: everybody else gets a 404. */
const ofOperators: readonly string[] = ['accounts', 'system'];
export const isOfOperators = (scope: string): boolean => ofOperators.includes(scope.split(':')[0] ?? '');
