import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import type { Caller, Sandboxes } from '../sandboxes/index.ts';
import { Workbench } from './agent.workbench.ts';

test('a sandbox without a session outlives a gateway that was killed by two minutes, and no request that goes on', async () => {
  const clock = testClock();
  let expiresAt = 0;
  let isDestroyed = false;
  const extend = (_: unknown, __: string, seconds: number): Promise<boolean> => {
    expiresAt = Math.max(expiresAt, clock.now() + seconds * 1000);
    return Promise.resolve(true);
  };
  const sandboxes = {
    has: () => false,
    extend,
    create: async (_: unknown, { ttlSeconds }: { ttlSeconds: number }) => {
      await extend(_, 'one', ttlSeconds);
      return { id: 'one' };
    },
    listFiles: () => Promise.resolve({ entries: [] }),
    destroy: () => Promise.resolve(void (isDestroyed = true)),
  } as unknown as Sandboxes;
  const caller = { kernel: { clock, log: { warn: () => {} } }, signal: new AbortController().signal };
  const bench = new Workbench(sandboxes, caller as unknown as Caller, { skills: [] }, undefined);
  await bench.list('/workspace');
  for (let second = 0; second < 900; second++) {
    clock.advance(1_000);
    assert.ok(expiresAt > clock.now(), `it ended in second ${second} of its request`);
    assert.ok(expiresAt <= clock.now() + 120_000, 'it would outlive its gateway by more than two minutes');
  }
  await bench.close();
  const last = expiresAt;
  clock.advance(600_000);
  assert.deepEqual([isDestroyed, expiresAt], [true, last]);
});
