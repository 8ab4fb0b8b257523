import { moved } from './heartbeats.moves.ts';
import { deadlineOf, expectedOf, type MonitorState, type Signal, spanOf } from './heartbeats.rules.ts';

/** A change that people are told of. */
export interface Transition {
  readonly event: 'heartbeat.down' | 'heartbeat.up';
  readonly reason: string;
}

/** A state after a step, and what happened on the way to it. */
export interface MonitorStep {
  readonly state: MonitorState;
  readonly transitions: readonly Transition[];
}

const down = (reason: string): Transition => ({ event: 'heartbeat.down', reason });

/** Goes down when its deadline is reached. */
export function expire(before: MonitorState, now: number): MonitorStep {
  const state = moved('expire', before, undefined, now);
  return state ? { state, transitions: [down(whyOverdue(before))] } : { state: before, transitions: [] };
}

function whyOverdue(state: MonitorState): string {
  const { startedAt, graceS, periodS, cron } = state;
  const isUnfinished = startedAt !== null && deadlineOf(state) === startedAt + graceS * 1000;
  if (isUnfinished) return `It started and did not finish within ${spanOf(graceS)}.`;
  if (cron === null) return `No success within ${spanOf(periodS)} and ${spanOf(graceS)} of grace.`;
  return `No success by ${new Date(expectedOf(state)).toISOString()} and within ${spanOf(graceS)} of grace.`;
}

/**
 * Takes a signal at `now`, after whatever was due by then: what people are told depends on when things happened, not on
 * which gateway looked first.
 */
export function receive(before: MonitorState, signal: Signal, now: number): MonitorStep {
  const { state, transitions } = expire(before, now);
  const { kind, exitCode } = signal;
  if (kind === 'log') return { state, transitions };
  if (kind === 'start') {
    const waits = state.status === 'new' || state.status === 'up';
    const started = { ...state, lastStartAt: now, ...(waits && { startedAt: now, startRid: signal.rid }) };
    return { state: started, transitions };
  }
  if (kind === 'fail' || (kind === 'exit' && exitCode !== 0)) {
    const fallen = moved('fail', state, signal, now);
    const reason = kind === 'fail' ? 'The job failed.' : `The job ended with exit code ${exitCode}.`;
    if (fallen) return { state: fallen, transitions: [...transitions, down(reason)] };
    // Down or paused already: the ping counts, and moves nothing.
    return { state: { ...state, lastPingAt: now, lastExitCode: exitCode ?? state.lastExitCode }, transitions };
  }
  const recovered = state.status === 'down' || state.recoveryOwed;
  const up: readonly Transition[] = recovered ? [{ event: 'heartbeat.up', reason: 'The job succeeded.' }] : [];
  return { state: moved('succeed', state, signal, now) ?? state, transitions: [...transitions, ...up] };
}

/** Pauses it, or has it begin anew; what it is already stays. */
export function pause(before: MonitorState, paused: boolean, now: number): MonitorStep {
  const { state, transitions } = expire(before, now);
  return { state: moved(paused ? 'pause' : 'resume', state, undefined, now) ?? state, transitions };
}
