import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  deadlineOf,
  expire,
  type MonitorState,
  pause,
  receive,
  type Signal,
  shownStatus,
  signalOf,
  spanOf,
} from './heartbeats.rules.ts';

/**
 * The design's words, naively: no deadline is kept, time is walked through millisecond by interesting millisecond, and
 * every condition is looked at anew.
 */
export function naive(createdAt: number, periodS: number, graceS: number) {
  let status: 'new' | 'up' | 'down' | 'paused' = 'new';
  let since = createdAt;
  let lastSuccess: number | undefined;
  let start: number | undefined;
  let owed = false;
  let clock = createdAt;
  const alerts: string[] = [];
  const fall = (): void => {
    owed = false;
    status = 'down';
    start = undefined;
    alerts.push('heartbeat.down');
  };
  const overdue = (at: number): boolean =>
    at - Math.max(since, lastSuccess ?? 0) >= 1000 * (periodS + graceS) ||
    (start !== undefined && at - start >= 1000 * graceS);
  const walk = (to: number): void => {
    for (; clock < to; clock = Math.min(clock + 1_000, to)) {
      if ((status === 'new' || status === 'up') && overdue(clock)) fall();
    }
    if ((status === 'new' || status === 'up') && overdue(to)) fall();
  };
  return {
    alerts,
    shown(now: number): string {
      return status === 'up' && lastSuccess !== undefined && now - lastSuccess >= 1000 * periodS ? 'late' : status;
    },
    run(now: number, step: { signal?: string; paused?: boolean }): void {
      walk(now);
      const { signal, paused } = step;
      if (paused === true && status === 'down') owed = true;
      if (paused === true && status !== 'paused') [status, start] = ['paused', undefined];
      if (paused === false && status === 'paused') [status, start, since] = ['new', undefined, now];
      if (signal === '/start' && (status === 'new' || status === 'up')) start = now;
      if ((signal === '/fail' || signal === '/1') && (status === 'new' || status === 'up')) fall();
      if (signal === '' || signal === '/0') {
        if (status === 'down' || owed) alerts.push('heartbeat.up');
        owed = false;
        [status, start, lastSuccess] = ['up', undefined, now];
      }
    },
  };
}

const fresh = (at: number, periodS: number, graceS: number): MonitorState => ({
  status: 'new',
  periodS,
  graceS,
  armedAt: at,
  lastSuccessAt: null,
  lastPingAt: null,
  lastStartAt: null,
  lastExitCode: null,
  startedAt: null,
  startRid: null,
  recoveryOwed: false,
  outage: 0,
});
const signalFor = (word: string, rid: string | null = null): Signal => ({
  ...(word === '' ? { kind: 'success' as const, exitCode: null } : (signalOf(word.slice(1)) as Signal)),
  rid,
});

describe('the rules of a monitor', () => {
  test('10,000 random sequences go as in the naive model', () => {
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ wait: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.constantFrom(60, 61, 119, 120)) }),
      },
      { weight: 3, arbitrary: fc.record({ signal: fc.constantFrom('', '/start', '/fail', '/0', '/1', '/log') }) },
      { weight: 1, arbitrary: fc.record({ paused: fc.boolean() }) },
    );
    let steps = 0;
    const seconds = fc.constantFrom(60, 61, 90, 150);
    fc.assert(
      fc.property(seconds, seconds, fc.array(step, { maxLength: 20, size: 'max' }), (periodS, graceS, sequence) => {
        let now = Date.UTC(2026, 0, 1);
        let state = fresh(now, periodS, graceS);
        const model = naive(now, periodS, graceS);
        const told: string[] = [];
        for (const one of sequence) {
          steps += 1;
          if ('wait' in one) now += one.wait * 1000;
          const done =
            'signal' in one
              ? receive(state, signalFor(one.signal), now)
              : 'paused' in one
                ? pause(state, one.paused, now)
                : expire(state, now);
          state = done.state;
          told.push(...done.transitions.map(({ event }) => event));
          model.run(now, 'signal' in one ? { signal: one.signal } : 'paused' in one ? one : {});
          assert.equal(shownStatus(state, now), model.shown(now));
          assert.deepEqual(told, model.alerts);
          const deadline = deadlineOf(state);
          assert.equal(deadline === null, state.status === 'down' || state.status === 'paused');
          assert.ok(deadline === null || deadline > now, 'what was due has happened');
          assert.equal(state.outage, told.filter((event) => event === 'heartbeat.down').length);
        }
      }),
      { numRuns: 10_000 },
    );
    assert.ok(steps > 50_000, `${steps} steps`);
  });

  test('the end of another run leaves a start waiting; one without an id, or a failure, ends it', () => {
    const at = Date.UTC(2026, 0, 1);
    const up = receive(fresh(at, 600, 60), signalFor(''), at).state;
    const started = receive(up, signalFor('/start', 'a'), at).state;
    assert.equal(receive(started, signalFor('', 'b'), at).state.startedAt, at);
    assert.equal(receive(started, signalFor('', 'a'), at).state.startedAt, null);
    assert.equal(receive(started, signalFor(''), at).state.startedAt, null);
    assert.equal(receive(started, signalFor('/1', 'b'), at).state.startedAt, null);
    const nameless = receive(up, signalFor('/start'), at).state;
    assert.equal(receive(nameless, signalFor('', 'b'), at).state.startedAt, null);
  });

  test('spans are told in words', () => {
    assert.deepEqual([60, 3_600, 5_400, 90_061].map(spanOf), ['1 min', '1 h', '1 h 30 min', '1 d 1 h 1 min 1 s']);
  });
});
