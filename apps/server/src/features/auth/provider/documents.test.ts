import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { documentsOf } from './documents.ts';

describe('documents of clients, and the keys that they name', () => {
  test('are asked for once in a while, and stay good while their host fails', async () => {
    const clock = testClock();
    let [asked, status, body] = [0, 200, 'one'];
    const outbound = {
      request: () => {
        asked += 1;
        if (status === 0) return Promise.reject(new Error('no answer'));
        return Promise.resolve({ status, headers: {}, body: Buffer.from(body), truncated: false });
      },
    };
    const get = documentsOf({ outbound, clock } as unknown as Pick<Kernel, 'outbound' | 'clock'>);
    const read = async () => (await get('https://app.example/keys')).text();
    assert.deepEqual(await Promise.all([read(), read(), read()]), ['one', 'one', 'one']);
    assert.equal(await read(), 'one');
    assert.equal(asked, 1);
    for (const failing of [503, 429, 0]) {
      clock.advance(61_000);
      status = failing;
      assert.equal(await read(), 'one');
    }
    clock.advance(61_000);
    [status, body] = [200, 'two'];
    assert.equal(await read(), 'two');
    clock.advance(61_000);
    status = 404;
    assert.equal((await get('https://app.example/keys')).status, 404);
    status = 0;
    clock.advance(86_400_000);
    await assert.rejects(read(), /no answer/);
  });
});
