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
