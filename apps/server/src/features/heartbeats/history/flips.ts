import { expectedOf, type MonitorState, type ShownStatus, shownStatus } from '../heartbeats.rules.ts';

/** A change of status as people see it; `at` in milliseconds. */
export interface Flip {
  readonly at: number;
  readonly was: ShownStatus;
  readonly became: ShownStatus;
}

/** The changes of status on the way through these states, all of them at `now` but the begin of `late`. */
export function flipsThrough(now: number, ...states: readonly MonitorState[]): Flip[] {
  return states.flatMap((after, n) => (n === 0 ? [] : flipsBetween(states[n - 1] as MonitorState, after, now)));
}

/** Nobody writes when a monitor becomes late: that is told when it ends. */
function flipsBetween(before: MonitorState, after: MonitorState, now: number): Flip[] {
  const was = shownStatus(before, now);
  const became = shownStatus(after, now);
  if (was === became || became === 'late') return [];
  const flip = { at: now, was, became };
  return was === 'late' ? [{ at: expectedOf(before), was: before.status, became: was }, flip] : [flip];
}
