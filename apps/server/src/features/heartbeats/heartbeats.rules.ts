import type { MonitorStatus } from './heartbeats.states.ts';
import { nextOf } from './heartbeats.times.ts';

/** The facts that a monitor has of its job; instants in milliseconds. */
export interface MonitorState {
  readonly status: MonitorStatus;
  /** With `cron` what people are shown, and nothing more. */
  readonly periodS: number;
  readonly graceS: number;
  readonly cron: string | null;
  /** Of `cron`. */
  readonly tz: string | null;
  /** With `cron`: the instant by which a success is expected. */
  readonly expectedAt: number | null;
  /** Created, or resumed after a pause. */
  readonly armedAt: number;
  readonly lastSuccessAt: number | null;
  /** The last success or failure; a start and a log are no sign of an end. */
  readonly lastPingAt: number | null;
  readonly lastStartAt: number | null;
  readonly lastExitCode: number | null;
  /** A start that waits for its success, and the run it named. */
  readonly startedAt: number | null;
  readonly startRid: string | null;
  /** It was down when it was paused: its recovery is still to be told. */
  readonly recoveryOwed: boolean;
  /** How often it went down. */
  readonly outage: number;
  /** When it went down last. */
  readonly downSince: number | null;
  /** While it is paused: when it goes on by itself. */
  readonly pausedUntil: number | null;
}

/** A job's report. */
export interface Signal {
  readonly kind: 'success' | 'start' | 'fail' | 'log' | 'exit';
  readonly exitCode: number | null;
  readonly rid: string | null;
}

/** The last sign that it is well, or of its beginning: what is expected is expected after it. */
const sinceOf = ({ lastSuccessAt, armedAt }: MonitorState): number => Math.max(lastSuccessAt ?? 0, armedAt);

/** By when a success is expected. One that came before it leaves it as it is. */
export function expectedOf(state: MonitorState): number {
  const since = sinceOf(state);
  if (state.cron === null) return since + state.periodS * 1000;
  // A gateway of the version before knows nothing of it and leaves it behind.
  const isAhead = state.expectedAt !== null && state.expectedAt > since;
  return isAhead ? state.expectedAt : nextOf(state.cron, state.tz, since).expectedAt;
}

/** The same with the expectation that follows the last success or the beginning; no search while the one it has is ahead. */
export function expecting(state: MonitorState): MonitorState {
  const since = sinceOf(state);
  if (state.cron === null || (state.expectedAt !== null && state.expectedAt > since)) return state;
  return { ...state, ...nextOf(state.cron, state.tz, since) };
}

/** A success may come so much before the instant by which it is expected and counts for it, milliseconds at most. */
const earliestMs = 300_000;

/**
 * The same after a success at `now`: what is expected then. One that comes shortly before an instant counts for that
 * one, by the grace, a tenth of the gap after it or 5 min at most: a job at the very minute on a machine whose clock is
 * 3 s fast would be late each day.
 */
export function succeeded(state: MonitorState, now: number): MonitorState {
  const { cron, tz, graceS, expectedAt } = state;
  if (cron === null || (expectedAt !== null && expectedAt > now + earliestMs)) return state;
  const next = nextOf(cron, tz, now);
  const early = Math.min(graceS * 1000, next.periodS * 100, earliestMs);
  return { ...state, ...(next.expectedAt - now <= early ? nextOf(cron, tz, next.expectedAt) : next) };
}

/** The times that a monitor's owner sets. */
export type Times = Pick<MonitorState, 'periodS' | 'graceS' | 'cron' | 'tz'>;

/** The same under other times. Another expression or zone counts from `now`: nobody is late for what was not yet said. */
export function retimed(state: MonitorState, times: Times, now: number): MonitorState {
  const { cron, tz } = times;
  if (cron === null) return { ...state, ...times, expectedAt: null };
  if (cron === state.cron && tz === state.tz) return { ...state, ...times, periodS: state.periodS };
  return { ...state, ...times, ...nextOf(cron, tz, now) };
}

/** When it goes down by itself: at this instant, not after it. Null: never, as it is down or paused. */
export function deadlineOf(state: MonitorState): number | null {
  if (state.status === 'down' || state.status === 'paused') return null;
  const expected = expectedOf(state) + state.graceS * 1000;
  return state.startedAt === null ? expected : Math.min(expected, state.startedAt + state.graceS * 1000);
}

/** A status as people see it. */
export type ShownStatus = MonitorState['status'] | 'late';

/** Its status as people see it: an `up` whose success is overdue is `late`. */
export function shownStatus(state: MonitorState, now: number): ShownStatus {
  return state.status === 'up' && now >= expectedOf(state) ? 'late' : state.status;
}

const units: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** Seconds in words: `1 h 30 min`. */
export function spanOf(seconds: number): string {
  let left = seconds;
  const parts = units.flatMap(([size, unit]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return parts.join(' ');
}

/** The largest exit code that is kept: Windows has unsigned ones of 32 bits. */
const largestExit = 2 ** 31 - 1;

/** The meaning of the last part of a ping's path; undefined for an unknown word. */
export function signalOf(word: string): Pick<Signal, 'kind' | 'exitCode'> | undefined {
  // `/ping/<token>/` is a success, as at healthchecks.io.
  if (word === '') return { kind: 'success', exitCode: null };
  if (word === 'start' || word === 'fail' || word === 'log') return { kind: word, exitCode: null };
  if (!/^-?\d{1,100}$/.test(word)) return undefined;
  // 0xc0000005 is written as 3221225477 by some shells and as -1073741819 by others: one code.
  const code = Number(word) > largestExit && Number(word) < 2 ** 32 ? Number(word) - 2 ** 32 : Number(word);
  return { kind: 'exit', exitCode: Math.max(-largestExit - 1, Math.min(largestExit, code)) };
}
