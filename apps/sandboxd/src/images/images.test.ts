import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ImageStatus, Template } from '@svc/sandboxd-api';
import { temporaryDirectory } from '../parts.testing.ts';
import type { TarBuilder } from './build.ts';
import { createImages } from './images.ts';
import { type Recipe, recipes } from './recipes.ts';

/** Makes a tar of a tree with one file, which holds `text`; `gate` holds it up half-way. */
function fakeBuilder(text: () => string, gate?: Promise<unknown>) {
  const built: string[] = [];
  const below: (string | undefined)[] = [];
  const builder: TarBuilder = {
    async build(recipe, { work, on }, take, onProgress) {
      built.push(recipe.template);
      below.push(on);
      onProgress({ progress: 0.4, step: 'unpacking python3-pandas' });
      await gate;
      const tree = await mkdtemp(join(work, 'tree-'));
      await writeFile(join(tree, 'file'), text());
      const tar = spawn('tar', ['-c', '--mtime=@0', '-C', tree, 'file'], { stdio: ['ignore', 'pipe', 'inherit'] });
      await take(tar.stdout);
    },
  };
  return { builder, built, below };
}

function withPackages(extra: string): Readonly<Record<Template, Recipe>> {
  const more = Object.entries(recipes).map(([name, recipe]) => [
    name,
    { ...recipe, packages: [...recipe.packages, extra] },
  ]);
  return Object.fromEntries(more) as Record<Template, Recipe>;
}

const visible = async (dir: string) =>
  (await readdir(dir)).filter((name) => !/^\.[a-z-]+\.(lock|progress)$/.test(name));

async function place(t: TestContext) {
  return join(await temporaryDirectory(t), 'images');
}

test('an image is unpacked below the hash of its bytes, and found again by another process', async (t) => {
  const dir = await place(t);
  const { builder, built } = fakeBuilder(() => 'one');
  const images = createImages({ dir, builder });
  assert.equal(images.get('svc-base'), undefined);
  const heard: ImageStatus[] = [];
  const [image, same] = await Promise.all([images.build('svc-base', (s) => heard.push(s)), images.build('svc-base')]);
  assert.equal(image, same);
  assert.equal(image.rootfs, join(dir, image.digest.slice(7), 'rootfs'));
  assert.equal(await readFile(join(image.rootfs, 'file'), 'utf8'), 'one');
  assert.deepEqual(built, ['svc-base']);
  assert.ok(heard.some(({ state, step }) => state === 'building' && step === 'unpacking python3-pandas'));
  assert.equal(heard.at(-1)?.state, 'ready');
  const again = createImages({ dir, builder });
  assert.equal(again.get('svc-base')?.digest, image.digest);
  assert.equal((await again.ready('svc-base', 0)).digest, image.digest);
  assert.deepEqual(built, ['svc-base']);
  assert.deepEqual(await visible(dir), [image.digest.slice(7)]);
});

test('who cannot wait for an image hears how far it is; the build goes on', async (t) => {
  const dir = await place(t);
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  const images = createImages({ dir, builder: fakeBuilder(() => 'one', gate.promise).builder });
  const halfWay = Promise.withResolvers<void>();
  const whole = images.build('svc-base', ({ progress }) => progress === 0.4 && halfWay.resolve());
  await halfWay.promise;
  await assert.rejects(images.ready('svc-base', 1), (error: Error & { code?: string; retryAfterS?: number }) => {
    assert.equal(error.code, 'sandbox_capacity');
    assert.equal(error.message, 'image svc-base is being built: 40 % (unpacking python3-pandas)');
    return (error.retryAfterS ?? 0) > 0;
  });
  gate.resolve();
  assert.equal((await images.ready('svc-base', 10_000)).digest, (await whole).digest);
});

test('a build that fails leaves nothing, says why, and is not tried again at once', async (t) => {
  const dir = await place(t);
  const clock = { now: Date.now() };
  let reason = 'E: write failed (28: No space left on device)';
  const { builder, built } = fakeBuilder(() => {
    if (reason) throw new Error(reason);
    return 'one';
  });
  const images = createImages({ dir, builder, now: () => clock.now });
  await assert.rejects(images.build('svc-base'), { code: 'sandbox_capacity', message: /the disk of .* is full/ });
  assert.deepEqual(await visible(dir), []);
  assert.deepEqual([images.status()[0]?.state, images.status()[1]?.state], ['failed', 'absent']);
  await assert.rejects(images.ready('svc-base', 1000), { message: /is full/ });
  assert.equal(built.length, 1);
  clock.now += 60_000;
  reason = '';
  assert.equal((await images.ready('svc-base', 10_000)).template, 'svc-base');
});

test('what a killed build left is never an image, and goes with the next build', async (t) => {
  const dir = await place(t);
  await mkdir(join(dir, '.building-svc-base-x1/rootfs'), { recursive: true });
  await mkdir(join(dir, '.building-desktop-x1/rootfs'), { recursive: true });
  // A directory with the name of an image and nothing that says what it is.
  await mkdir(join(dir, '0'.repeat(64), 'rootfs'), { recursive: true });
  const images = createImages({ dir, builder: fakeBuilder(() => 'one').builder });
  assert.deepEqual(images.list(), []);
  const { digest } = await images.build('svc-base');
  assert.deepEqual((await visible(dir)).sort(), ['.building-desktop-x1', '0'.repeat(64), digest.slice(7)].sort());
  await images.prune(new Set());
  assert.ok(!(await visible(dir)).includes('.building-desktop-x1'));
});

test('a changed recipe makes a new image; the old one stays while something keeps it', async (t) => {
  const dir = await place(t);
  let text = 'one';
  const { builder } = fakeBuilder(() => text);
  const old = await createImages({ dir, builder }).build('svc-base');
  text = 'two';
  const images = createImages({ dir, builder, recipes: withPackages('cowsay') });
  assert.equal(images.get('svc-base'), undefined);
  const next = await images.build('svc-base');
  assert.notEqual(next.digest, old.digest);
  assert.deepEqual(await images.prune(new Set([old.digest])), []);
  assert.ok(await stat(old.rootfs));
  assert.deepEqual(await images.prune(new Set()), [old.digest]);
  assert.deepEqual(await visible(dir), [next.digest.slice(7)]);
});

test('an image that adds to another is made of it, which is built first; with another one below it is another one', async (t) => {
  const dir = await place(t);
  let count = 0;
  const { builder, built, below } = fakeBuilder(() => String(count++));
  const images = createImages({ dir, builder });
  const heard: string[] = [];
  await images.build('office-acte', ({ step }) => heard.push(step));
  assert.deepEqual(built, ['svc-base', 'office-acte']);
  assert.deepEqual(below, [undefined, images.get('svc-base')?.rootfs]);
  assert.ok(heard.includes('svc-base: unpacking python3-pandas'));
  await images.build('desktop');
  assert.deepEqual(built, ['svc-base', 'office-acte', 'desktop']);
  const changed = { ...recipes, 'svc-base': { ...recipes['svc-base'], packages: ['cowsay'] } };
  const other = createImages({ dir, builder, recipes: changed });
  assert.equal(other.get('desktop'), undefined);
  await other.build('desktop');
  assert.deepEqual(built.slice(3), ['svc-base', 'desktop']);
});

test('one process builds, the others wait for its image and see how far it is', async (t) => {
  const dir = await place(t);
  const gate = Promise.withResolvers<void>();
  const first = createImages({ dir, builder: fakeBuilder(() => 'one', gate.promise).builder });
  const second = fakeBuilder(() => 'other');
  const waiting = createImages({ dir, builder: second.builder });
  const built = first.build('svc-base');
  while (waiting.status()[0]?.step !== 'unpacking python3-pandas') await new Promise((r) => setTimeout(r, 50));
  const joined = waiting.build('svc-base');
  gate.resolve();
  assert.equal((await joined).digest, (await built).digest);
  assert.deepEqual(second.built, []);
});
