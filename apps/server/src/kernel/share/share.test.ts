import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GivenBack, Share } from './share.ts';

describe('places that accounts share', () => {
  test('an account has its part of the places at most, all together no more than there are, and each is given back once', () => {
    const share = new Share({ total: 5, ofOne: 2 });
    const [a1, a2] = [share.take('a'), share.take('a')];
    assert.ok(a1 && a2);
    assert.equal(share.take('a'), undefined);
    const others = ['b', 'b', 'c'].map((account) => share.take(account));
    assert.ok(others.every(Boolean));
    assert.equal(share.take('d'), undefined);
    const taken = { a: 2, b: 2, c: 1 };
    assert.deepEqual([share.open().total, Object.fromEntries(share.open().taken)], [0, taken]);
    a1();
    a1();
    assert.equal(share.open().total, 1);
    const d = share.take('d');
    assert.ok(d);
    assert.equal(share.take('a'), undefined);
    for (const giveBack of [a2, d, ...others]) giveBack?.();
    assert.deepEqual([share.open().total, share.open().taken.size], [5, 0]);
  });

  test('are bounded by each thing they belong to and by account; one that is given back makes room once', () => {
    const share = new Share({ total: 6, ofOne: 5, of: { page: 3 } });
    const open = (page: string) => share.take('a', { of: { page }, end: () => assert.fail('nobody else waits') });
    const first = open('x');
    assert.ok(first && open('x') && open('x'));
    assert.equal(open('x'), undefined, 'three of one page');
    assert.ok(open('y') && open('y'));
    assert.equal(open('z'), undefined, 'five of one account');
    first();
    first();
    assert.ok(open('x'));
    assert.equal(open('x'), undefined);
  });

  test('when all are taken, one that has fewer gets the newest of the account that has most', () => {
    const share = new Share({ total: 6, ofOne: 5, of: { page: 9 } });
    const ended: string[] = [];
    const open = (account: string, name: string) =>
      share.take(account, { of: { page: account }, end: () => ended.push(name) }) !== undefined;
    for (let i = 1; i <= 5; i++) assert.ok(open('a', `a${i}`));
    assert.ok(open('b', 'b1'));
    assert.ok(open('c', 'c1'));
    assert.ok(open('b', 'b2'));
    assert.deepEqual(ended, ['a5', 'a4']);
    assert.equal(open('a', 'a6'), false, 'it has most itself');
    assert.ok(open('c', 'c2'));
    assert.deepEqual(ended, ['a5', 'a4', 'a3']);
    for (const account of ['a', 'b', 'c']) assert.equal(open(account, 'more'), false, 'all have the same');
  });
});

describe('turns', () => {
  test('as much is under way at once as may be, the rest in the order in which it came', async () => {
    const share = new Share({ total: 2, ofOne: 2, waitingOfOne: 3 });
    const begun: number[] = [];
    const works = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    const results = works.map(({ promise }, n) =>
      share.run('a', async () => {
        begun.push(n);
        await promise;
        return n;
      }),
    );
    await assert.rejects(
      share.run('a', () => Promise.resolve()),
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
    const share = new Share({ total: 1, ofOne: 1, waitingOfOne: 1 });
    const failing = share.run('a', () => Promise.reject(new Error('broken')));
    const next = share.run('a', () => Promise.resolve('done'));
    await assert.rejects(failing, /broken/);
    assert.equal(await next, 'done');
    assert.equal(await share.run('a', () => Promise.resolve('again')), 'again');
  });

  test('one account with much to do holds up the first work of another by no more than what is under way', async () => {
    const { running, start } = jobsOf(new Share({ total: 1, ofOne: 1, waitingOfOne: 9 }));
    const mine = [start('a'), start('a'), start('a')];
    const other = start('b');
    const order: string[] = [];
    for (let n = 0; n < 4; n++) {
      await settled();
      order.push(...running);
      const job = running[0] === 'b' ? other : mine.shift();
      job?.finish();
    }
    assert.deepEqual(order, ['a', 'a', 'b', 'a']);
  });

  test('free places are lent to one account, all but one, and the newest is taken back when others wait', async () => {
    const { running, start } = jobsOf(new Share({ total: 3, ofOne: 1, waitingOfOne: 9, lends: true }));
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

  test('nothing is lent unless it is asked for', async () => {
    const { running, start } = jobsOf(new Share({ total: 3, ofOne: 1, waitingOfOne: 9 }));
    const jobs = [start('a'), start('a')];
    await settled();
    assert.deepEqual(running, ['a']);
    for (const job of jobs) job.finish();
    await Promise.all(jobs.map(({ done }) => done));
  });
});

/** Work that goes on until it is let go; a lent place is given back when it is asked for. */
function jobsOf(share: Share) {
  const running: string[] = [];
  const start = (account: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const done = share.run(account, async (takenBack) => {
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
