import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Turns } from './turns.ts';

describe('turns', () => {
  test('as much is under way at once as may be, the rest in the order in which it came', async () => {
    const turns = new Turns({ atOnce: 2, waiting: 3 });
    const begun: number[] = [];
    const works = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    const results = works.map(({ promise }, n) =>
      turns.run(async () => {
        begun.push(n);
        await promise;
        return n;
      }),
    );
    await assert.rejects(
      turns.run(() => Promise.resolve()),
      { code: 'unavailable' },
    );
    assert.deepEqual(begun, [0, 1]);
    for (const n of [1, 0, 2, 3, 4]) {
      works[n]?.resolve();
      await results[n];
    }
    assert.deepEqual(begun, [0, 1, 2, 3, 4]);
    assert.deepEqual(await Promise.all(results), [0, 1, 2, 3, 4]);
  });

  test('work that fails gives its turn back', async () => {
    const turns = new Turns({ atOnce: 1, waiting: 1 });
    const failing = turns.run(() => Promise.reject(new Error('broken')));
    const next = turns.run(() => Promise.resolve('done'));
    await assert.rejects(failing, /broken/);
    assert.equal(await next, 'done');
    assert.equal(await turns.run(() => Promise.resolve('again')), 'again');
  });
});
