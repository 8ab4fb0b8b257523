import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { startLoop } from './loop.ts';

/** Work that a test lets end: how often it began, how many ran at once, and what ends the run under way. */
function work() {
  const state = { began: 0, atOnce: 0, most: 0, end: (_nextMs?: number): void => {}, fail: (): void => {} };
  return {
    state,
    run: async (): Promise<number | void> => {
      state.began += 1;
      state.atOnce += 1;
      state.most = Math.max(state.most, state.atOnce);
      try {
        return await new Promise<number | void>((resolve, reject) => {
          state.end = resolve;
          state.fail = () => reject(new Error('the work failed'));
        });
      } finally {
        state.atOnce -= 1;
      }
    },
  };
}

/** Lets everything that is ready run. */
const turn = () => new Promise(setImmediate);

describe('loop', () => {
  const open = (everyMs = 1_000) => {
    const clock = testClock();
    const { state, run } = work();
    const loop = startLoop({ clock, log: createLog('silent') }, { name: 'test', everyMs, work: run });
    return { clock, state, loop };
  };

  test('runs once a period, and never twice at the same time', async () => {
    const { clock, state } = open();
    clock.advance(999);
    assert.equal(state.began, 0);
    clock.advance(1);
    clock.advance(5_000);
    assert.equal(state.began, 1, 'it still runs');
    state.end();
    await turn();
    assert.equal(state.began, 2, 'it was woken meanwhile');
    assert.equal(state.most, 1);
  });

  test('a wake during a run leads to one more, however many came', async () => {
    const { state, loop } = open();
    for (let i = 0; i < 3; i += 1) loop.wake();
    state.end();
    await turn();
    assert.equal(state.began, 2);
    state.end();
    await turn();
    assert.equal(state.began, 2);
  });

  test('what the work answers brings the next run forward, and a later run forgets it', async () => {
    const { clock, state, loop } = open(10_000);
    loop.wake();
    state.end(200);
    await turn();
    clock.advance(199);
    assert.equal(state.began, 1);
    loop.wake();
    state.end();
    await turn();
    clock.advance(1_000);
    assert.equal(state.began, 2);
  });

  test('a failure ends no loop, and does not run in circles when it is woken all the time', async () => {
    const { clock, state, loop } = open();
    loop.wake();
    loop.wake();
    state.fail();
    await turn();
    assert.equal(state.began, 1);
    clock.advance(1_000);
    assert.equal(state.began, 2);
  });

  test('stop waits for the run under way and begins none', async () => {
    const { clock, state, loop } = open();
    loop.wake();
    loop.wake();
    let isStopped = false;
    const stopped = loop.stop().then(() => {
      isStopped = true;
    });
    await turn();
    assert.equal(isStopped, false);
    state.end(0);
    await stopped;
    loop.wake();
    clock.advance(10_000);
    assert.equal(state.began, 1);
  });

  test('a loop without a period runs when it is woken, and tries again what failed', async () => {
    const clock = testClock();
    let began = 0;
    const loop = startLoop(
      { clock, log: createLog('silent') },
      {
        name: 'test',
        work() {
          began += 1;
          // Before the first await: a failure like others.
          if (began === 1) throw new Error('at once');
          return Promise.resolve();
        },
      },
    );
    clock.advance(60_000);
    assert.equal(began, 0);
    loop.wake();
    await turn();
    assert.equal(began, 1);
    clock.advance(1_000);
    await turn();
    assert.equal(began, 2);
    clock.advance(60_000);
    assert.equal(began, 2);
    await loop.stop();
  });
});
