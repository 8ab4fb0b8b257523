import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FairTurns, GivenBack } from './fair-turns.ts';

/** Work that goes on until it is let go; a lent place is given back when it is asked for. */
function jobsOf(turns: FairTurns) {
  const running: string[] = [];
  const start = (account: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const done = turns.run(account, async (takenBack) => {
      takenBack?.addEventListener('abort', () => reject(takenBack.reason as Error));
      running.push(account);
      try {
        await promise;
      } finally {
        running.splice(running.indexOf(account), 1);
      }
    });
    done.catch(() => {});
    return { done, finish: resolve };
  };
  return { running, start };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('turns that lend free places', () => {
  test('give one account all but one, and take the newest back when others wait for a place', async () => {
    const { running, start } = jobsOf(new FairTurns({ atOnce: 3, mostOfOne: 1, waitingOfOne: 9, lends: true }));
    const mine = [start('a'), start('a'), start('a')];
    await settled();
    assert.deepEqual(running, ['a', 'a']);
    const other = start('b');
    await settled();
    assert.deepEqual(running, ['a', 'a', 'b']);
    const third = start('c');
    await assert.rejects(mine[1]?.done ?? assert.fail(), GivenBack);
    await settled();
    assert.deepEqual(running, ['a', 'b', 'c']);
    for (const job of [other, third]) job.finish();
    await settled();
    assert.deepEqual(running, ['a', 'a']);
    for (const job of mine) job.finish();
    await settled();
    assert.deepEqual(running, []);
  });

  test('lend nothing unless they are told to', async () => {
    const { running, start } = jobsOf(new FairTurns({ atOnce: 3, mostOfOne: 1, waitingOfOne: 9 }));
    const jobs = [start('a'), start('a')];
    await settled();
    assert.deepEqual(running, ['a']);
    for (const job of jobs) job.finish();
    await Promise.all(jobs.map(({ done }) => done));
  });
});
