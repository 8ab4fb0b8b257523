import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock, testClock } from './clock.ts';

describe('clocks', () => {
  test('the test clock fires timers in the order of their instants, each at its own time', () => {
    const clock = testClock(1_000);
    const fired: [string, number][] = [];
    const note = (name: string) => () => fired.push([name, clock.now()]);
    clock.after(30, note('c'));
    clock.every(10, note('t'));
    clock.after(5, note('a'));
    const cancel = clock.after(7, note('never'));
    cancel();
    cancel();
    clock.advance(30);
    assert.deepEqual(fired, [
      ['a', 1_005],
      ['t', 1_010],
      ['t', 1_020],
      ['c', 1_030],
      ['t', 1_030],
    ]);
    assert.equal(clock.now(), 1_030);
    assert.equal(clock.monotonic(), 1_030);
  });

  test('a timer set by a timer fires in the same turn when it is due, one cancelled by another does not', () => {
    const clock = testClock(0);
    const fired: string[] = [];
    const doomed = clock.after(20, () => fired.push('doomed'));
    clock.after(10, () => {
      doomed();
      clock.after(5, () => fired.push('inner'));
    });
    clock.advance(100);
    assert.deepEqual(fired, ['inner']);
  });

  test('the system clock ticks, and its cancelled timers do not fire', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const cancel = systemClock.after(0, () => resolve('cancelled one'));
    cancel();
    const stop = systemClock.every(5, () => resolve('tick'));
    const keepAlive = setInterval(() => {}, 5_000);
    assert.equal(await promise, 'tick');
    clearInterval(keepAlive);
    stop();
    const before = systemClock.monotonic();
    assert.ok(systemClock.monotonic() >= before);
    const [from, now, to] = [Date.now(), systemClock.now(), Date.now()];
    assert.ok(from <= now && now <= to);
  });
});
