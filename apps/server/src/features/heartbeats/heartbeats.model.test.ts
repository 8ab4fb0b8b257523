import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  deadlineOf,
  expectedOf,
  type MonitorState,
  retimed,
  type Signal,
  shownStatus,
  signalOf,
  spanOf,
} from './heartbeats.rules.ts';
import { expire, pause, receive } from './heartbeats.steps.ts';
import { nextOf } from './heartbeats.times.ts';

/**
 * The design's words, naively: no deadline is kept, time is walked through millisecond by interesting millisecond, and
 * every condition is looked at anew.
 */
export function naive(
  createdAt: number,
  periodS: number,
  graceS: number,
  expectedAfter = (since: number, _isSuccess: boolean): number => since + 1000 * periodS,
) {
  let status: 'new' | 'up' | 'down' | 'paused' = 'new';
  let since = createdAt;
  let lastSuccess: number | undefined;
  let start: number | undefined;
  let owed = false;
  let end: number | undefined;
  let clock = createdAt;
  const alerts: string[] = [];
  const fall = (): void => {
    owed = false;
    status = 'down';
    start = undefined;
    alerts.push('heartbeat.down');
  };
  const overdue = (at: number): boolean =>
    at >= expectedAfter(Math.max(since, lastSuccess ?? 0), (lastSuccess ?? -1) >= since) + 1000 * graceS ||
    (start !== undefined && at - start >= 1000 * graceS);
  /** As a look at this instant finds it: a pause that ended goes on from the look, not from its end. */
  const walk = (to: number): void => {
    if (end !== undefined && end <= to) {
      if (status === 'paused') [status, start, since] = ['new', undefined, to];
      end = undefined;
      clock = to;
      return;
    }
    for (; clock < to; clock = Math.min(clock + 1_000, to)) {
      if ((status === 'new' || status === 'up') && overdue(clock)) fall();
    }
    if ((status === 'new' || status === 'up') && overdue(to)) fall();
  };
  return {
    alerts,
    shown(now: number): string {
      return status === 'up' && lastSuccess !== undefined && now >= expectedAfter(lastSuccess, true) ? 'late' : status;
    },
    run(now: number, step: { signal?: string; paused?: boolean; pauseS?: number }): void {
      walk(now);
      const { signal, paused } = step;
      if (paused === true && status === 'down') owed = true;
      if (paused === true && status !== 'paused') [status, start] = ['paused', undefined];
      if (paused !== undefined) end = step.pauseS === undefined ? undefined : now + 1000 * step.pauseS;
      if (paused === false && status === 'paused') [status, start, since] = ['new', undefined, now];
      if (signal === '/start' && (status === 'new' || status === 'up')) start = now;
      if ((signal === '/fail' || signal === '/1') && (status === 'new' || status === 'up')) fall();
      if (signal === '' || signal === '/0') {
        if (status === 'down' || owed) alerts.push('heartbeat.up');
        owed = false;
        [status, start, lastSuccess, end] = ['up', undefined, now, undefined];
      }
    },
  };
}

const fresh = (at: number, periodS: number, graceS: number): MonitorState => ({
  status: 'new',
  periodS,
  graceS,
  cron: null,
  tz: null,
  expectedAt: null,
  armedAt: at,
  lastSuccessAt: null,
  lastPingAt: null,
  lastStartAt: null,
  lastExitCode: null,
  startedAt: null,
  startRid: null,
  recoveryOwed: false,
  outage: 0,
  downSince: null,
  pausedUntil: null,
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
      { weight: 1, arbitrary: fc.record({ paused: fc.constant(true), pauseS: fc.integer({ min: 1, max: 400 }) }) },
    );
    let steps = 0;
    const seconds = fc.constantFrom(60, 61, 90, 150);
    const cron = fc.option(fc.constantFrom(1, 2, 3), { nil: undefined });
    fc.assert(
      fc.property(
        seconds,
        seconds,
        cron,
        fc.array(step, { maxLength: 20, size: 'max' }),
        (periodS, graceS, every, sequence) => {
          let now = Date.UTC(2026, 0, 1, 0, 0, 30);
          const plain = fresh(now, periodS, graceS);
          let state = every === undefined ? plain : retimed(plain, { ...plain, cron: `*/${every} * * * *` }, now);
          const gap = 60_000 * (every ?? 1);
          const next = (since: number, isSuccess: boolean) => {
            const early = isSuccess ? Math.min(graceS * 1_000, gap / 10, 300_000) : -1;
            const coming = (Math.floor(since / gap) + 1) * gap;
            return coming - since <= early ? coming + gap : coming;
          };
          const model = naive(now, periodS, graceS, every === undefined ? undefined : next);
          const told: string[] = [];
          let shown = 'new';
          for (const one of sequence) {
            steps += 1;
            if ('wait' in one) now += one.wait * 1000;
            const done =
              'signal' in one
                ? receive(state, signalFor(one.signal), now)
                : 'paused' in one
                  ? pause(state, one.paused, now, 'pauseS' in one ? now + 1000 * one.pauseS : null)
                  : expire(state, now);
            state = done.state;
            told.push(...done.transitions.map(({ event }) => event));
            model.run(now, 'signal' in one ? { signal: one.signal } : 'paused' in one ? one : {});
            assert.equal(shownStatus(state, now), model.shown(now));
            // Each change follows from the one before; of what is late now only the begin is missing.
            for (const { was, became } of done.flips) {
              assert.equal(was, shown);
              shown = became;
            }
            assert.equal(shownStatus(state, now) === 'late' ? 'up' : shownStatus(state, now), shown);
            assert.deepEqual(told, model.alerts);
            const deadline = deadlineOf(state);
            assert.equal(deadline === null, state.status === 'down' || state.status === 'paused');
            assert.ok(deadline === null || deadline > now, 'what was due has happened');
            assert.equal(state.outage, told.filter((event) => event === 'heartbeat.down').length);
          }
        },
      ),
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

  const cronAt = (at: number, cron: string, tz: string): MonitorState => {
    const plain = fresh(at, 60, 3_600);
    return retimed(plain, { ...plain, cron, tz }, at);
  };

  test('a cron expression goes by the clock of its zone, on the days too on which that changes', () => {
    for (const [cron, from, expected, following] of [
      // Clocks in Bucharest go from 03:00 to 04:00 on 29 March, and from 04:00 to 03:00 on 25 October.
      ['30 3 * * *', '2026-03-28T02:00Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z'],
      ['0 9 * * *', '2026-03-28T07:00Z', '2026-03-29T06:00Z', '2026-03-30T06:00Z'],
      ['30 3 * * *', '2026-10-24T12:00Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z'],
      ['30 * * * *', '2026-10-25T00:30Z', '2026-10-25T01:30Z', '2026-10-25T02:30Z'],
    ] as const) {
      const state = receive(
        cronAt(Date.parse(from) - 1, cron, 'Europe/Bucharest'),
        signalFor(''),
        Date.parse(from),
      ).state;
      assert.equal(expectedOf(state), Date.parse(expected), `${cron} after ${from}`);
      assert.equal(deadlineOf(state), Date.parse(expected) + 3_600_000);
      assert.equal(state.periodS, (Date.parse(following) - Date.parse(expected)) / 1000);
      const after = receive(state, signalFor(''), Date.parse(expected)).state;
      assert.equal(expectedOf(after), Date.parse(following), `${cron} after ${expected}`);
    }
  });

  test('a success shortly before an instant counts for it: by a clock that is 3 s fast nobody is late', () => {
    const at = Date.UTC(2026, 0, 1, 9, 39, 57);
    const day = 86_400_000;
    const well = (state: MonitorState, now: number) => receive(state, signalFor(''), now).state;
    const first = well(cronAt(at - 1_000, '40 9 * * *', 'UTC'), at);
    assert.equal(expectedOf(first), at + 3_000 + day);
    assert.equal(expectedOf(well(first, at + day)), at + 3_000 + 2 * day);
    assert.equal(expectedOf(well(first, at + day - 297_000)), at + 3_000 + 2 * day, '5 min before');
    assert.equal(expectedOf(well(first, at + day - 298_000)), at + 3_000 + day);
    const short = { ...first, graceS: 2 };
    assert.equal(expectedOf(well(short, at + day)), at + 3_000 + day, 'no more than the grace');
    const often = well(cronAt(at - 60_000, '* * * * *', 'UTC'), at - 3_001);
    assert.equal(expectedOf(often), at + 3_000, 'no more than a tenth of the gap');
  });

  test('what a version without cron expressions left behind is searched anew', () => {
    const at = Date.UTC(2026, 0, 1);
    const state = { ...cronAt(at, '0 * * * *', 'UTC'), lastSuccessAt: at + 5 * 3_600_000, status: 'up' as const };
    assert.equal(expectedOf(state), at + 6 * 3_600_000);
    assert.equal(expectedOf({ ...state, expectedAt: null }), at + 6 * 3_600_000);
  });

  test('another expression or zone counts from the change on, another grace from what was expected', () => {
    const at = Date.UTC(2026, 0, 1, 12);
    const state = cronAt(at - 86_400_000, '0 18 * * *', 'UTC');
    assert.equal(expectedOf(retimed(state, { ...state, cron: '0 9 * * *' }, at)), at + 21 * 3_600_000);
    assert.equal(expectedOf(retimed(state, { ...state, graceS: 60 }, at)), expectedOf(state));
    assert.equal(expectedOf(retimed(state, { ...state, cron: null, periodS: 600 }, at)), at - 86_400_000 + 600_000);
  });

  test('the rarest expressions are told within the bounds of period_s', () => {
    const at = Date.UTC(2026, 0, 1);
    assert.deepEqual(nextOf('0 0 29 2 *', null, at).periodS, 2_592_000);
    assert.deepEqual(nextOf('* * * * *', null, at).periodS, 60);
  });

  test('spans are told in words', () => {
    assert.deepEqual([60, 3_600, 5_400, 90_061].map(spanOf), ['1 min', '1 h', '1 h 30 min', '1 d 1 h 1 min 1 s']);
  });
});
