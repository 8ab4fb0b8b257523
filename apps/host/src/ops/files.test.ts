import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmod,
  link,
  mkdir,
  open,
  readdir,
  readFile as read,
  rename,
  stat,
  symlink,
  writeFile as write,
} from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { contextOf, resultOf, temporaryDirectory } from '../testing.ts';
import { readFile, statFile } from './files.ts';
import { listDirectory } from './list.ts';
import type { OpContext } from './op.ts';
import { writeFile } from './write.ts';

/** A root, a directory outside of it with a secret, and links from one to the other. */
async function setUp(t: TestContext): Promise<{ root: string; outside: string; context: OpContext }> {
  const [root, outside] = [await temporaryDirectory(t), await temporaryDirectory(t)];
  await write(join(outside, 'secret'), 'secret');
  await symlink(join(outside, 'secret'), join(root, 'link-to-file'));
  await symlink(outside, join(root, 'link-to-directory'));
  await symlink(join(outside, 'absent'), join(root, 'dangling'));
  await symlink('link-to-directory', join(root, 'link-to-link'));
  return { root, outside, context: contextOf(root) };
}

const escapes = [
  'link-to-file',
  'link-to-directory/secret',
  'link-to-link/secret',
  'link-to-directory/../x',
  '../x',
  '/etc/passwd',
];

test('nothing outside the roots can be read, listed or inspected, by any symlink or ..', async (t) => {
  const { context, outside } = await setUp(t);
  for (const path of [
    ...escapes.filter((path) => !path.startsWith('link-to-directory/..')),
    'dangling',
    join(outside, 'secret'),
  ]) {
    for (const op of [readFile, statFile, listDirectory]) {
      await assert.rejects(op({ path }, context), { message: 'outside_roots' }, path);
    }
  }
  await assert.rejects(listDirectory({ path: 'link-to-link' }, context), { message: 'outside_roots' });
});

test('nothing outside the roots can be written or made, by any symlink or ..', async (t) => {
  const { context, outside } = await setUp(t);
  const paths = [
    'link-to-file',
    'link-to-directory/new',
    'link-to-link/a/b',
    'dangling',
    '../new',
    join(outside, 'new'),
  ];
  for (const path of paths) {
    for (const create_dirs of [false, true]) {
      await assert.rejects(writeFile({ path, content: 'x', create_dirs }, context), { message: 'outside_roots' }, path);
    }
  }
  assert.deepEqual(await readdir(outside), ['secret']);
  assert.equal(await read(join(outside, 'secret'), 'utf8'), 'secret');
});

test('a path that does not exist says so inside the roots and tells nothing outside', async (t) => {
  const { context, root } = await setUp(t);
  await assert.rejects(readFile({ path: 'absent/deep' }, context), { message: 'not_found' });
  await assert.rejects(readFile({ path: '/absent' }, context), { message: 'outside_roots' });
  await assert.rejects(readFile({ path: `${root}-beside` }, context), { message: 'outside_roots' });
  await assert.rejects(writeFile({ path: 'absent/deep', content: '' }, context), { message: 'not_found' });
});

test('symlinks that stay inside the roots are followed', async (t) => {
  const { root, context } = await setUp(t);
  await mkdir(join(root, 'real'));
  await symlink('real', join(root, 'alias'));
  await writeFile({ path: 'alias/file', content: 'one' }, context);
  await symlink('real/file', join(root, 'alias-file'));
  await writeFile({ path: 'alias-file', content: 'two' }, context);
  const result = await resultOf('read_file', { path: 'alias-file' }, context);
  assert.deepEqual([result.path, result.content], [join(root, 'real/file'), 'two']);
});

/** Swaps the directory `d` for a link to outside and back, as fast as it can. */
const swapper = `
const { renameSync, rmSync, symlinkSync } = require('node:fs');
const { root, outside } = require('node:worker_threads').workerData;
const ignoring = (step) => { try { step(); } catch {} };
for (;;) {
  ignoring(() => renameSync(root + '/d', root + '/e'));
  ignoring(() => symlinkSync(outside, root + '/d'));
  ignoring(() => rmSync(root + '/d', { recursive: true }));
  ignoring(() => renameSync(root + '/e', root + '/d'));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random());
}`;

test('a directory swapped for a symlink at any instant never lets a read or write out of the roots', async (t) => {
  const { root, outside, context } = await setUp(t);
  await mkdir(join(root, 'd'));
  await write(join(root, 'd', 'secret'), 'harmless');
  const worker = new Worker(swapper, { eval: true, workerData: { root, outside } });
  const seen = new Map<string, number>();
  const note = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  const noteError = (error: Error) => note(error.message);
  try {
    const isMet = () => seen.has('harmless') && seen.has('outside_roots');
    for (const end = performance.now() + 3000; performance.now() < end || !isMet(); ) {
      await resultOf('read_file', { path: 'd/secret' }, context).then(({ content }) => note(content), noteError);
      await resultOf('list_dir', { path: 'd' }, context).then(({ entries }) => {
        assert.ok(entries.every(({ bytes }) => bytes !== 'secret'.length));
      }, noteError);
      await writeFile({ path: 'd/made', content: 'x' }, context).catch(noteError);
      await writeFile({ path: 'd/sub/made', content: 'x', create_dirs: true }, context).catch(noteError);
    }
  } finally {
    await worker.terminate();
  }
  assert.ok(seen.has('harmless') && !seen.has('secret'), [...seen].join());
  assert.ok(seen.has('outside_roots'), 'the race was never met');
  assert.deepEqual(await readdir(outside), ['secret']);
});

test("the daemon's own files are refused inside a root, by every path to them", async (t) => {
  const { root } = await setUp(t);
  await mkdir(join(root, 'state'));
  await write(join(root, 'state', 'host.json'), '{}');
  await symlink('state', join(root, 'alias'));
  const context = contextOf(root, { places: { roots: [root], hidden: [join(root, 'state')] } });
  for (const path of ['state/host.json', 'alias/host.json', 'state/new', 'state']) {
    for (const op of [readFile, statFile, listDirectory]) {
      await assert.rejects(op({ path }, context), { message: 'refused_by_policy' }, path);
    }
    await assert.rejects(writeFile({ path, content: '' }, context), { message: 'refused_by_policy' }, path);
  }
});

test('with / as root the environment of a process, which may hold the key, stays out of reach', async () => {
  const context = contextOf('/', { places: { roots: ['/'], hidden: [] } });
  for (const path of [
    '/proc/self/environ',
    `/proc/${process.pid}/environ`,
    '/proc/thread-self/environ',
    '/proc/self/root/etc',
  ]) {
    const reach = statFile({ path }, context);
    if (path.endsWith('/etc')) await reach;
    else await assert.rejects(reach, { message: 'refused_by_policy' }, path);
  }
});

test('text is read as utf8, other bytes as base64, and either on demand', async (t) => {
  const { root, context } = await setUp(t);
  await write(join(root, 'text'), 'häß€');
  await write(join(root, 'bytes'), Buffer.from([0xff, 0, 1]));
  const get = (path: string, encoding?: string) => resultOf('read_file', { path, encoding }, context);
  assert.deepEqual(await get('text'), {
    path: join(root, 'text'),
    content: 'häß€',
    encoding: 'utf8',
    bytes: 8,
    size: 8,
    truncated: false,
  });
  assert.equal((await get('text', 'base64')).content, Buffer.from('häß€').toString('base64'));
  assert.deepEqual([(await get('bytes')).encoding, (await get('bytes')).content], ['base64', '/wAB']);
  assert.equal((await get('bytes', 'utf8')).content, '\ufffd\u0000\u0001');
});

test('a file read in pieces of any length comes back whole', async (t) => {
  const { root, context } = await setUp(t);
  const whole = '€uro ß '.repeat(20);
  await write(join(root, 'file'), whole);
  for (const length of [1, 2, 3, 7, 64]) {
    const pieces: Buffer[] = [];
    for (let offset = 0, more = true; more; ) {
      const piece = await resultOf('read_file', { path: 'file', offset, length }, context);
      pieces.push(Buffer.from(piece.content, piece.encoding as BufferEncoding));
      offset += piece.bytes;
      more = piece.truncated;
    }
    assert.equal(Buffer.concat(pieces).toString(), whole);
  }
});

test('a read answers at most 8 MiB and never more than a result may hold', async (t) => {
  const { root, context } = await setUp(t);
  await write(join(root, 'big'), Buffer.alloc(9 * 1024 * 1024, 'a'));
  await write(join(root, 'zeros'), Buffer.alloc(9 * 1024 * 1024));
  for (const encoding of ['utf8', 'base64']) {
    const big = await resultOf('read_file', { path: 'big', encoding }, context);
    assert.deepEqual([big.bytes, big.size, big.truncated], [8 * 1024 * 1024, 9 * 1024 * 1024, true]);
    const zeros = await resultOf('read_file', { path: 'zeros', encoding }, context);
    assert.ok(zeros.truncated && zeros.bytes > 0 && JSON.stringify(zeros).length < 12_000_000);
  }
});

test('directories, FIFOs and devices are not read and hold nothing up', async (t) => {
  const { root, context } = await setUp(t);
  execFileSync('mkfifo', [join(root, 'fifo')]);
  await assert.rejects(readFile({ path: '.' }, context), { message: 'is_a_directory' });
  await assert.rejects(readFile({ path: 'fifo' }, context), { message: 'not_a_file' });
  await assert.rejects(writeFile({ path: 'fifo', content: '' }, context), { message: 'not_a_file' });
  await assert.rejects(writeFile({ path: '.', content: '' }, context), { message: 'is_a_directory' });
  const device = contextOf('/dev', { places: { roots: ['/dev'], hidden: [] } });
  await assert.rejects(readFile({ path: 'zero' }, device), { message: 'not_a_file' });
});

test('a write answers size and SHA-256, keeps the mode of the file it replaces, and sets the one given', async (t) => {
  const { root, context } = await setUp(t);
  const put = (args: object) => resultOf('write_file', args, context);
  const written = await put({ path: 'a/b/file', content: 'aGk=', encoding: 'base64', create_dirs: true, mode: '0640' });
  assert.deepEqual(written, {
    path: join(root, 'a/b/file'),
    bytes: 2,
    sha256: '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4',
  });
  const mode = async () => (await stat(join(root, 'a/b/file'))).mode & 0o777;
  assert.equal(await mode(), 0o640);
  await chmod(join(root, 'a/b/file'), 0o755);
  await put({ path: 'a/b/file', content: 'again' });
  assert.equal(await mode(), 0o755);
  await put({ path: 'a/b/file', content: 'again', mode: 0o600 });
  assert.equal(await mode(), 0o600);
});

test('a reader that holds the old file keeps all of it while a write replaces it', async (t) => {
  const { root, context } = await setUp(t);
  await write(join(root, 'file'), 'old content');
  await using held = await open(join(root, 'file'));
  await link(join(root, 'file'), join(root, 'hard'));
  await writeFile({ path: 'file', content: 'new' }, context);
  assert.equal(await held.readFile('utf8'), 'old content');
  assert.equal(await read(join(root, 'hard'), 'utf8'), 'old content');
  assert.equal(await read(join(root, 'file'), 'utf8'), 'new');
});

test('a write that is refused or ended leaves nothing behind', async (t) => {
  const { root, context } = await setUp(t);
  const before = (await readdir(root)).toSorted();
  await assert.rejects(writeFile({ path: 'x', content: 'no base64!', encoding: 'base64' }, context), {
    message: 'bad_args: content: not base64',
  });
  const ended = contextOf(root, { signal: AbortSignal.abort('cancelled') });
  await assert.rejects(writeFile({ path: 'x', content: 'x' }, ended), { message: 'cancelled' });
  assert.deepEqual((await readdir(root)).toSorted(), before);
});

test('a listing names every entry with its own type, links not followed, names of any bytes', async (t) => {
  const root = await temporaryDirectory(t);
  await mkdir(join(root, 'directory'));
  await write(join(root, 'file'), 'abc');
  await symlink('/etc', join(root, 'link'));
  await write(Buffer.concat([Buffer.from(`${root}/z`), Buffer.from([0xff])]), '12');
  const { entries, truncated } = await resultOf('list_dir', {}, contextOf(root));
  assert.deepEqual(
    entries.map(({ name, type }) => [name, type]),
    [
      ['directory', 'directory'],
      ['file', 'file'],
      ['link', 'symlink'],
      ['z%FF', 'file'],
    ],
  );
  assert.deepEqual([entries[1]?.bytes, entries[3]?.bytes, truncated], [3, 2, false]);
  assert.ok(Math.abs((entries[1]?.mtime_ms ?? 0) - Date.now()) < 60_000);
  await assert.rejects(listDirectory({ path: 'file' }, contextOf(root)), { message: 'not_a_directory' });
});

test('a name that is no UTF-8 is found by what a listing shows of it, on the way too, and is written to', async (t) => {
  const root = await temporaryDirectory(t);
  const bytes = (text: string) => Buffer.from(`${root}/${text}`, 'latin1');
  await mkdir(bytes('d\xe9'));
  await write(bytes('d\xe9/caf\xe9'), 'bytes');
  await symlink(Buffer.from('d\xe9/caf\xe9', 'latin1'), join(root, 'link'));
  const context = contextOf(root);
  const names = async (path: string) => (await resultOf('list_dir', { path }, context)).entries.map(({ name }) => name);
  assert.deepEqual([await names('.'), await names('d%E9')], [['d%E9', 'link'], ['caf%E9']]);
  for (const path of ['d%E9/caf%E9', 'link']) {
    assert.equal((await resultOf('read_file', { path }, context)).content, 'bytes');
    assert.equal((await resultOf('stat', { path }, context)).bytes, 5);
  }
  const content = { content: 'new', create_dirs: true };
  await resultOf('write_file', { path: 'd%E9/caf%E9', ...content }, context);
  assert.equal(await read(bytes('d\xe9/caf\xe9'), 'utf8'), 'new');
  // What nothing has is made as it is spelled, and comes first from then on.
  await resultOf('write_file', { path: 'new%E9/caf%E9', ...content }, context);
  assert.equal(await read(join(root, 'new%E9/caf%E9'), 'utf8'), 'new');
});

test('a listing answers 10,000 entries and says that there are more', async (t) => {
  const root = await temporaryDirectory(t);
  execFileSync('bash', ['-c', 'seq 10001 | xargs touch'], { cwd: root });
  const { entries, truncated } = await resultOf('list_dir', {}, contextOf(root));
  assert.deepEqual([entries.length, truncated], [10_000, true]);
});

test('stat needs no read permission and follows links', async (t) => {
  const { root, context } = await setUp(t);
  await write(join(root, 'file'), 'abcd', { mode: 0o200 });
  await rename(join(root, 'file'), join(root, 'closed'));
  await symlink('closed', join(root, 'to-closed'));
  const result = await resultOf('stat', { path: 'to-closed' }, context);
  assert.deepEqual(
    [result['path'], result['type'], result['bytes'], result['mode']],
    [join(root, 'closed'), 'file', 4, 0o200],
  );
});
