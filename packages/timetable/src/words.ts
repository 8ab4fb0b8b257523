import type { TimedTrigger } from './types.ts';

/** Stub until the grammar lands. */
export function understand(_text: string, _options: { now: number; tz: string }): TimedTrigger | undefined {
  return undefined;
}
