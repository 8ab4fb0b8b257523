import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, chown, link, lstat, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { zstdCompressSync } from 'node:zlib';
import { needsRoot, temporaryDirectory } from '../parts.testing.ts';
import { mainPath } from '../testing.ts';
import type { TarBuilder } from './build.ts';
import { createImages, type ImageShelf } from './images.ts';
import { recipeHash, recipes } from './recipes.ts';

const long = `${'a-long-name/'.repeat(12)}end`;

/** An image with what a root file system has: links of both kinds, a long name, a set-id bit, owners, a device. */
const builder: TarBuilder = {
  async build(_recipe, { work }, take) {
    const tree = await mkdtemp(join(work, 'tree-'));
    const at = (path: string): string => join(tree, path);
    for (const path of ['usr/bin', 'dev', long.slice(0, -4)]) await mkdir(at(path), { recursive: true });
    await writeFile(at('usr/bin/su'), 'su');
    await chmod(at('usr/bin/su'), 0o4755);
    await link(at('usr/bin/su'), at('usr/bin/su2'));
    await symlink('usr/bin', at('bin'));
    await symlink('/etc/none', at('absolute'));
    await writeFile(at(long), 'deep');
    await writeFile(at('dev/null'), '');
    if (needsRoot === false) await chown(at(long), 1000, 1001);
    const tar = spawn('tar', ['-c', '--mtime=@0', '-C', tree, '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
    await take(tar.stdout);
  },
};

async function shelves(t: TestContext): Promise<{ from: ImageShelf; to: ImageShelf; dir: string; file: string }> {
  const place = await temporaryDirectory(t);
  const from = createImages({ dir: join(place, 'from'), builder });
  await from.build('svc-base');
  const dir = join(place, 'to');
  return { from, to: createImages({ dir, builder }), dir, file: join(place, 'image') };
}

/** The entries of the directory of images, but for locks. */
const kept = async (dir: string): Promise<string[]> =>
  (await readdir(dir).catch(() => [])).filter((name) => !name.endsWith('.lock'));

test('an exported image is imported as it is, without devices and set-id bits, and is found from then on', async (t) => {
  const { from, to, dir, file } = await shelves(t);
  await from.exportTo('svc-base', file);
  const image = await to.importFrom(file);
  assert.deepEqual(await kept(dir), [image.digest.slice(7)]);
  assert.equal((await to.ready('svc-base', 0)).digest, image.digest);
  const at = (path: string): string => join(image.rootfs, path);
  assert.equal(await readFile(at(long), 'utf8'), 'deep');
  assert.equal(await readFile(at('bin/su2'), 'utf8'), 'su');
  const [su, deep] = [await lstat(at('usr/bin/su')), await lstat(at(long))];
  assert.deepEqual([su.mode & 0o7777, su.nlink], [0o755, 2]);
  if (needsRoot === false) assert.deepEqual([deep.uid, deep.gid], [1000, 1001]);
  assert.deepEqual(await readdir(at('dev')), []);
  // The digest is that of the content: once more is the same image.
  assert.equal((await to.importFrom(file)).digest, image.digest);
  await assert.rejects(from.exportTo('svc-base', file), /is there already/);
  await assert.rejects(from.exportTo('desktop', `${file}-2`), /there is no image desktop .* build desktop/);
});

/** Runs Node.js as nobody, who may read everything, so that it finds the program wherever that is. */
async function asNobody(dir: string, words: readonly string[]): Promise<string> {
  await chown(dir, 65_534, 65_534);
  const user = ['--reuid', '65534', '--regid', '65534', '--clear-groups', '--inh-caps', '-all,+dac_read_search'];
  const caps = ['--ambient-caps', '+dac_read_search', '--bounding-set', '-all,+dac_read_search', '--'];
  const { stdout } = await promisify(execFile)('setpriv', [...user, ...caps, process.execPath, ...words]);
  return stdout;
}

test('as another user than root an image is imported too', { skip: needsRoot }, async (t) => {
  const { from, file } = await shelves(t);
  await from.exportTo('svc-base', file);
  const dir = await temporaryDirectory(t);
  await chmod(file, 0o644);
  const program = `import { createImages } from ${JSON.stringify(join(import.meta.dirname, 'images.ts'))};
const image = await createImages({ dir: process.argv[1], builder: {} }).importFrom(process.argv[2]);
console.log(JSON.stringify(image));`;
  const words = ['--input-type=module-typescript', '-e', program, join(dir, 'images'), file];
  const { rootfs, template } = JSON.parse(await asNobody(dir, words));
  assert.equal(template, 'svc-base');
  const { uid } = await lstat(join(rootfs, long));
  assert.equal(uid, 65_534);
});

test('an image from which no sandbox starts is not imported, and the command says so', async (t) => {
  const { from, dir, file } = await shelves(t);
  await from.exportTo('svc-base', file);
  const words = [mainPath, 'images', 'import', file, '--dir', dir];
  const failed = await promisify(execFile)(process.execPath, words).then(
    () => assert.fail('it was imported'),
    (error: { code: number; stderr: string }) => error,
  );
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /^svc: no sandbox starts from this image on this machine \(\w+\): .+\n$/);
  assert.deepEqual(await kept(dir), []);
});

/** A tar by hand: entries are type, name, link or content. */
function tarOf(entries: readonly [type: string, name: string, more?: string][], after = ''): Buffer {
  const blocks = entries.flatMap(([type, name, more = '']) => {
    const content = type === '0' || type === 'L' || type === 'x' ? Buffer.from(more) : Buffer.alloc(0);
    const header = Buffer.alloc(512);
    header.write(name, 0, 100, 'latin1');
    header.write('0000644\0', 100);
    header.write('0000000\0'.repeat(2), 108);
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write('00000000000\0        ', 136);
    header.write(type, 156);
    if (content.length === 0) header.write(more, 157, 100, 'latin1');
    header.write('ustar  \0', 257);
    const sum = header.reduce((all, byte) => all + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1_024), Buffer.from(after)]);
}

/** An archive whose header fits its tar, but for `changes`. */
function archiveOf(tar: Buffer, changes: object = {}): Buffer {
  const digest = `sha256:${createHash('sha256').update(tar).digest('hex')}`;
  const recipe = recipeHash(recipes['svc-base']);
  const said = { svc_image: 1, template: 'svc-base', recipe, built_at: '2026-01-01T00:00:00Z' };
  const header = JSON.stringify({ ...said, digest, bytes: tar.length, ...changes });
  return Buffer.concat([Buffer.from(`${header.padEnd(1_023)}\n`), zstdCompressSync(tar)]);
}

const root: [string, string] = ['5', './'];
const good = tarOf([root, ['0', './file', 'here']]);
const big = tarOf([root, ['0', './file', 'x'.repeat(100_000) + Math.random()]]);

const hostile: Record<string, Buffer> = {
  'a name above the root': archiveOf(tarOf([root, ['0', '../out', 'x']])),
  'a name above a directory of it': archiveOf(tarOf([root, ['5', './a/'], ['0', './a/../../out', 'x']])),
  'an absolute name': archiveOf(tarOf([root, ['0', '/tmp/svc-out', 'x']])),
  'an absolute long name': archiveOf(tarOf([root, ['L', '././@LongLink', '/tmp/svc-out\0'], ['0', './short', 'x']])),
  'a file below a link': archiveOf(tarOf([root, ['2', './a', '/tmp'], ['0', './a/svc-out', 'x']])),
  'a link in the place of a directory': archiveOf(
    tarOf([root, ['5', './a/'], ['2', './a', '/tmp'], ['0', './a/x', 'x']]),
  ),
  'a hard link to what is outside': archiveOf(tarOf([root, ['1', './a', '/etc/passwd']])),
  'a hard link above the root': archiveOf(tarOf([root, ['1', './a', '../../../etc/passwd']])),
  'a file below a hard link to a link': archiveOf(
    tarOf([root, ['2', './a', '/tmp'], ['1', './b', './a'], ['0', './b/svc-out', 'x']]),
  ),
  'a device': archiveOf(tarOf([root, ['4', './sda']])),
  'a pipe': archiveOf(tarOf([root, ['6', './pipe']])),
  'extended headers, which may rename what follows': archiveOf(
    tarOf([root, ['x', './x', '25 path=/tmp/svc-out-xyz\n'], ['0', './a', 'x']]),
  ),
  'a second archive behind its end': archiveOf(tarOf([root], good.toString('latin1'))),
  'another digest than its own': archiveOf(good, { digest: `sha256:${'0'.repeat(64)}` }),
  'another length than its own': archiveOf(good, { bytes: 1 }),
  'a recipe of another version': archiveOf(good, { recipe: 'older' }),
  'no such template': archiveOf(good, { template: '../../etc' }),
  'no header': good,
  'nothing in it': Buffer.alloc(0),
  'half of its bytes': archiveOf(big).subarray(0, -1_000),
  'no end': archiveOf(good.subarray(0, -1_024)),
};

for (const [what, bytes] of Object.entries(hostile)) {
  test(`an archive with ${what} is refused, and nothing of it stays`, async (t) => {
    const place = await temporaryDirectory(t);
    const dir = join(place, 'images');
    const file = join(place, 'archive');
    await writeFile(file, bytes);
    const images = createImages({ dir, builder });
    await assert.rejects(images.importFrom(file), /archive|damaged|another version/);
    assert.deepEqual(await kept(dir), []);
    assert.equal(await lstat('/tmp/svc-out').catch(() => undefined), undefined);
    assert.deepEqual(
      (await readdir(place)).filter((name) => name !== 'archive' && name !== 'images'),
      [],
    );
    await writeFile(file, archiveOf(good));
    assert.equal(await readFile(join((await images.importFrom(file)).rootfs, 'file'), 'utf8'), 'here');
  });
}
