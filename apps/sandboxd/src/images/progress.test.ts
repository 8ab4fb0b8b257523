import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgressLog, createProgressReader } from './progress.ts';

test('the progress of a build never falls, and its steps name the packages', () => {
  const read = createProgressReader();
  const seen = [
    'I: running apt-get update...',
    'Get:1 http://m.example/debian trixie InRelease [140 kB]',
    'I: installing essential packages...',
    'Setting up libc6:amd64 (2.41) ...',
    'I: installing remaining packages inside the chroot...',
    '0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.',
    'Get:1 http://m.example/debian trixie/main amd64 zip amd64 3.0-15 [235 kB]',
    'Unpacking zip (3.0-15) ...',
    'Setting up python3-pandas:amd64 (2.2.3) ...',
    'svc-step: finishing the file system',
    'svc-step: font caches',
    'I: creating tarball...',
  ].flatMap((line) => read(line) ?? []);
  assert.deepEqual(
    seen.map(({ step }) => step),
    [
      'reading the package lists',
      'installing the essential packages',
      'fetching packages',
      'fetching zip',
      'unpacking zip',
      'setting up python3-pandas',
      'finishing the file system',
      'font caches',
      'storing the image',
    ],
  );
  const values = seen.map(({ progress }) => progress);
  assert.deepEqual(
    values,
    [...values].sort((a, b) => a - b),
  );
  assert.ok(values.every((value) => value > 0 && value < 1));
});

test('a build is logged at each tenth of it, and at its end', () => {
  const said: unknown[] = [];
  const hear = createProgressLog((message) => said.push(message));
  const template = 'svc-base';
  for (const progress of [0, 0.02, 0.099, 0.1, 0.19, 0.55]) {
    hear({ template, state: 'building', progress, step: `at ${progress}` });
  }
  hear({ template, state: 'ready', progress: 1, step: 'ready' });
  hear({ template, state: 'ready', progress: 1, step: 'ready' });
  assert.deepEqual(said, [
    'image svc-base: 0 %, at 0',
    'image svc-base: 10 %, at 0.1',
    'image svc-base: 55 %, at 0.55',
    'image svc-base: ready',
  ]);
});
