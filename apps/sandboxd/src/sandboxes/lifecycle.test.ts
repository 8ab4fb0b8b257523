import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Context } from './context.ts';
import { create } from './lifecycle.ts';

test('creates of one id, at once and after one that failed, make one sandbox', async () => {
  const made: string[] = [];
  let asked = 0;
  const context = {
    slots: 10,
    entries: new Map(),
    creating: new Map(),
    guest: { path: '/guest' },
    drivers: { v1: { check: () => Promise.resolve() } },
    images: {
      async ready() {
        asked += 1;
        if (asked === 1) throw new Error('not yet');
        return { digest: 'sha256:0', rootfs: '/rootfs' };
      },
    },
    workspaces: { create: (id: string) => Promise.resolve(made.push(id)) },
    instances: { start: () => Promise.resolve({ client: { closed: new Promise(() => {}) } }) },
    records: { save: () => Promise.resolve() },
    pool: { refill() {} },
    shims: { refill() {} },
  } as unknown as Context;
  const wanted = { backend: 'v1', template: 'svc-base', egress: { mode: 'none' } } as const;
  const creates = [1, 2, 3, 4].map(() => create(context, 'one', { ...wanted, expires_at: Date.now() + 60_000 }));
  const settled = await Promise.allSettled(creates);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual([made.length, context.entries.size, context.creating.size], [1, 1, 0]);
});
