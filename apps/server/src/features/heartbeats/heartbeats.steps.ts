import { type Flip, flipsThrough } from './history/flips.ts';
import { moved } from './heartbeats.moves.ts';
import { deadlineOf, expectedOf, type MonitorState, type Signal, spanOf } from './heartbeats.rules.ts';

/** A change that people are told of. */
export interface Transition {
  readonly event: 'heartbeat.down' | 'heartbeat.up';
  /** Which sentence of `words.alerts.monitors.reasons`, and what stands in it. */
  readonly reason: Reason;
}

type Reason = readonly [
  name: 'failed' | 'exit' | 'unfinished' | 'overdue' | 'missed' | 'silenced' | 'succeeded',
  first?: string,
  second?: string,
];

/** A state after a step, and what happened on the way to it. */
export interface MonitorStep {
  readonly state: MonitorState;
  readonly transitions: readonly Transition[];
  readonly flips: readonly Flip[];
}

const down = (...reason: Reason): Transition => ({ event: 'heartbeat.down', reason });

/** Does what is due by now: its pause ends, or it goes down. */
export function expire(before: MonitorState, now: number): MonitorStep {
  const resumed = endPause(before, now);
  const state = moved('expire', resumed, undefined, now);
  if (!state) return { state: resumed, transitions: [], flips: flipsThrough(now, before, resumed) };
  return { state, transitions: [down(...whyOverdue(resumed))], flips: flipsThrough(now, before, resumed, state) };
}

function endPause(state: MonitorState, now: number): MonitorState {
  if (state.pausedUntil === null || now < state.pausedUntil) return state;
  // A gateway of the version before ends a pause by a success and leaves the instant behind.
  return moved('resume', state, undefined, now) ?? { ...state, pausedUntil: null };
}

function whyOverdue(state: MonitorState): Reason {
  const { startedAt, graceS, periodS, cron } = state;
  const isUnfinished = startedAt !== null && deadlineOf(state) === startedAt + graceS * 1000;
  if (isUnfinished) return ['unfinished', spanOf(graceS)];
  if (cron === null) return ['overdue', spanOf(graceS), spanOf(periodS)];
  return ['missed', spanOf(graceS), new Date(expectedOf(state)).toISOString()];
}

/**
 * Takes a signal at `now`, after whatever was due by then: what people are told depends on when things happened, not on
 * which gateway looked first.
 */
export function receive(before: MonitorState, signal: Signal, now: number): MonitorStep {
  const due = expire(before, now);
  const { state, transitions } = take(due.state, signal, now);
  return {
    state,
    transitions: [...due.transitions, ...transitions],
    flips: [...due.flips, ...flipsThrough(now, due.state, state)],
  };
}

function take(state: MonitorState, signal: Signal, now: number): Omit<MonitorStep, 'flips'> {
  const { kind, exitCode } = signal;
  if (kind === 'log') return { state, transitions: [] };
  if (kind === 'start') {
    const waits = state.status === 'new' || state.status === 'up';
    const started = { ...state, lastStartAt: now, ...(waits && { startedAt: now, startRid: signal.rid }) };
    return { state: started, transitions: [] };
  }
  if (kind === 'fail' || (kind === 'exit' && exitCode !== 0)) {
    const fallen = moved('fail', state, signal, now);
    const why: Reason = kind === 'fail' ? ['failed'] : ['exit', String(exitCode)];
    if (fallen) return { state: fallen, transitions: [down(...why)] };
    // Down or paused already: the ping counts, and moves nothing.
    return { state: { ...state, lastPingAt: now, lastExitCode: exitCode ?? state.lastExitCode }, transitions: [] };
  }
  const recovered = state.status === 'down' || state.recoveryOwed;
  const transitions: readonly Transition[] = recovered ? [{ event: 'heartbeat.up', reason: ['succeeded'] }] : [];
  return { state: moved('succeed', state, signal, now) ?? state, transitions };
}

/** Pauses it, for good or until an instant (milliseconds), or has it begin anew. One that is paused takes the new end. */
export function pause(before: MonitorState, paused: boolean, now: number, until: number | null = null): MonitorStep {
  const due = expire(before, now);
  const state = paused
    ? (moved('pause', due.state, { until }, now) ?? { ...due.state, pausedUntil: until })
    : (moved('resume', due.state, undefined, now) ?? due.state);
  return { ...due, state, flips: [...due.flips, ...flipsThrough(now, due.state, state)] };
}
