import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { createSystemPackages } from '../system-packages.ts';
import { openWorkspaces } from '../workspaces/workspaces.ts';
import { type Context, enter } from './context.ts';
import { watchGrowth } from './growth.ts';
import type { Live } from './instances.ts';
import type { SandboxRecord } from './record.ts';

test('where no file system limits it, a sandbox whose files grow without a command is stopped, no other is', async (t) => {
  const limits = { bytes: 1_000_000, inodes: 300 };
  const dir = await temporaryDirectory(t);
  const workspaces = await openWorkspaces({ dir, packages: createSystemPackages(false), plain: true, limits });
  assert.equal(workspaces.limited, false);
  const ended = Promise.withResolvers<string>();
  const looks = { count: 0, next: Promise.withResolvers<void>() };
  const context = {
    entries: new Map(),
    workspaces: {
      ...workspaces,
      async isTooLarge(id: string, tookMs: number) {
        const isTooLarge = await workspaces.isTooLarge(id, tookMs);
        looks.count += 1;
        looks.next.resolve();
        return isTooLarge;
      },
    },
    records: { save: () => Promise.resolve() },
    instances: { end: (id: string) => Promise.resolve(ended.resolve(id)) },
    log() {},
  } as unknown as Context;
  const live = { client: { closed: new Promise(() => {}) } } as unknown as Live;
  const uid = process.getuid?.() ?? 0;
  const fill = (id: string, name: string) => writeFile(join(workspaces.path(id), name), Buffer.alloc(1_200_000, 1));
  for (const id of ['grows', 'large', 'small']) {
    await workspaces.create(id, uid);
    enter(context, { id, instance: id, backend: 'v1', status: 'running' } as SandboxRecord, live);
  }
  await fill('large', 'a');
  await fill('grows', 'a');
  t.after(watchGrowth(context, 1));
  // A whole round was made when the first is looked at again.
  while (looks.count < 4) {
    await looks.next.promise;
    looks.next = Promise.withResolvers<void>();
  }
  await fill('grows', 'b');
  assert.equal(await ended.promise, 'grows');
  assert.deepEqual(
    [...context.entries.values()].map(({ record }) => [record.id, record.status, record.reason]),
    [
      ['grows', 'stopped', 'disk'],
      ['large', 'running', undefined],
      ['small', 'running', undefined],
    ],
  );
});
