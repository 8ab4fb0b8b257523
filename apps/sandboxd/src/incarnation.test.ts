import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openIncarnation } from './incarnation.ts';

test('each process of a node has a name of its own and knows the 32 before it, those of a copy of its directory apart', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-incarnation-'));
  const open = (place: string) => openIncarnation(place, () => {});
  const first = await open(dir);
  assert.deepEqual(first.earlier, []);
  await cp(dir, `${dir}.copy`, { recursive: true });
  const [second, copied] = [await open(dir), await open(`${dir}.copy`)];
  assert.deepEqual([second.earlier, copied.earlier], [[first.incarnation], [first.incarnation]]);
  const third = await open(dir);
  assert.deepEqual(third.earlier, [first.incarnation, second.incarnation]);
  for (let n = 0; n < 32; n += 1) await open(dir);
  const { earlier } = await open(dir);
  assert.deepEqual([earlier.length, earlier.includes(third.incarnation)], [32, false]);
  // As a power cut may leave it: the node starts all the same.
  await writeFile(join(dir, 'incarnations.json'), '');
  assert.deepEqual((await open(dir)).earlier, []);
  await Promise.all([dir, `${dir}.copy`].map((place) => rm(place, { recursive: true })));
});
