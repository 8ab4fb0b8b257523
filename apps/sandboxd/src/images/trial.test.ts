import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createImages } from './images.ts';
import { skip } from '../testing.ts';
import { tryImage } from './trial.ts';

test('a sandbox starts from the image of the tests, and nothing of it stays', { skip }, async () => {
  const dir = process.env['SVC_TEST_IMAGES'] ?? '/var/cache/svc/images';
  const images = createImages({ dir, builder: { build: () => Promise.reject(new Error('tests build no image')) } });
  const { rootfs } = images.get('svc-base') ?? assert.fail('no image');
  assert.deepEqual(await tryImage(rootfs, dir), {});
});
