import assert from 'node:assert/strict';
import { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { createSystemPackages } from '../system-packages.ts';
import { openWorkspaces } from './workspaces.ts';

const limits = { bytes: 1_000_000, inodes: 300 };
const uid = process.getuid?.() ?? 0;

test('where no file system counts, a workspace that grows over its limits while a command runs is seen', async (t) => {
  const dir = await temporaryDirectory(t);
  const it = await openWorkspaces({ dir, packages: createSystemPackages(false), plain: true, limits });
  assert.ok(it.isWatched);
  const path = await it.create('one', uid);
  const grown = it.watch('one');
  assert.equal(await grown(), false);
  await writeFile(join(path, 'a'), Buffer.alloc(900_000, 1));
  assert.deepEqual([await grown(), await it.isTooLarge('one', 0)], [false, false]);
  await writeFile(join(path, 'b'), Buffer.alloc(900_000, 1));
  assert.deepEqual([await grown(), await it.isTooLarge('one', 0)], [true, true]);
  // A command that only takes away is let go on, even while it is still too much.
  const shrunk = it.watch('one');
  await truncate(join(path, 'b'), 400_000);
  assert.equal(await shrunk(), false);
  await rm(join(path, 'b'));
  assert.equal(await it.isTooLarge('one', 0), false);
});

test('many files are counted after a command of some length, beside a short one, and are over the limit too', async (t) => {
  const dir = await temporaryDirectory(t);
  const it = await openWorkspaces({ dir, packages: createSystemPackages(false), plain: true, limits });
  const path = await it.create('one', uid);
  assert.equal(await it.isTooLarge('one', 0), false);
  await mkdir(join(path, 'many'));
  for (let index = 0; index < 400; index += 1) await writeFile(join(path, 'many', String(index)), '');
  await symlink('/', join(path, 'many', 'root'));
  assert.equal(await it.isTooLarge('one', 10), false);
  assert.equal(await it.isTooLarge('one', 1000), true);
  assert.equal(await it.isTooLarge('one', 10), true);
  await rm(join(path, 'many'), { recursive: true });
  assert.equal(await it.isTooLarge('one', 10), false);
});
