import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { needsRoot, temporaryDirectory, textOf } from '../parts.testing.ts';
import { createFiles, mostEntries } from './files.ts';
import { FileTooLarge } from './write.ts';

const files = createFiles();
const uid = process.getuid?.() === 0 ? 1000 : (process.getuid?.() ?? 0);
const options = { uid, readOnly: false, mostBytes: 1000 };
const of = (text: string) => Readable.from([Buffer.from(text)]);

/** A workspace, and a file outside of it that must not be reached. */
async function workspace(t: TestContext) {
  const directory = await temporaryDirectory(t);
  const root = join(directory, 'workspace');
  const secret = join(directory, 'secret');
  await mkdir(root);
  await writeFile(secret, 'secret');
  return { root, secret, directory };
}

test('a file that was written is read back, with its hash, its owner and its mode', async (t) => {
  const { root } = await workspace(t);
  const written = await files.write(root, 'in/a/ț.txt', of('hello'), options);
  assert.deepEqual(written, {
    path: 'in/a/ț.txt',
    bytes: 5,
    sha256: createHash('sha256').update('hello').digest('hex'),
  });
  const { bytes, body } = await files.read(root, './in//a/ț.txt');
  assert.equal(bytes, 5);
  assert.equal(await textOf(body), 'hello');
  const [file, parent] = [await stat(join(root, 'in/a/ț.txt')), await stat(join(root, 'in'))];
  assert.deepEqual([file.uid, file.mode & 0o7777], [uid, 0o644]);
  assert.deepEqual([parent.uid, parent.mode & 0o7777], [uid, 0o755]);
  await files.write(root, 'in/a/ț.txt', of(''), { ...options, readOnly: true });
  assert.equal((await stat(join(root, 'in/a/ț.txt'))).mode & 0o7777, 0o444);
  assert.equal(await textOf((await files.read(root, 'in/a/ț.txt')).body), '');
});

test('a path that leads elsewhere, or is none, is a bad request', async (t) => {
  const { root } = await workspace(t);
  const bad = [
    '../secret',
    'a/../../secret',
    '/etc/passwd',
    'a\0b',
    'x'.repeat(1025),
    'x'.repeat(256),
    'ț'.repeat(200),
  ];
  for (const path of bad) {
    await assert.rejects(files.read(root, path), { code: 'bad_request' }, path);
    await assert.rejects(files.write(root, path, of('x'), options), { code: 'bad_request' }, path);
    await assert.rejects(files.list(root, path), { code: 'bad_request' }, path);
  }
  for (const path of ['', '.', 'a/']) {
    await assert.rejects(files.write(root, path, of('x'), options), { code: 'bad_request' }, path);
  }
  assert.deepEqual(await readdir(root), []);
});

test('a file on the way of one that is written is told as such, and stays', async (t) => {
  const { root } = await workspace(t);
  await files.write(root, 'a/b/c.txt', of('kept'), options);
  await symlink('b/c.txt', join(root, 'a/link'));
  const refusal = { code: 'bad_request', message: 'a part of the path is a file, not a directory: "c.txt"' };
  for (const path of ['a/b/c.txt/d', 'a/b/c.txt/d/e', 'a/link/d']) {
    await assert.rejects(files.write(root, path, of('x'), options), refusal, path);
    await assert.rejects(files.read(root, path), { code: 'not_found' }, path);
  }
  assert.equal(await readFile(join(root, 'a/b/c.txt'), 'utf8'), 'kept');
});

test('no symbolic link leads out: not as the file, not on the way, not by a walk', async (t) => {
  const { root, secret, directory } = await workspace(t);
  await symlink(secret, join(root, 'file'));
  await symlink(directory, join(root, 'way'));
  for (const path of ['file', 'way/secret']) await assert.rejects(files.read(root, path), { code: 'not_found' });
  await assert.rejects(files.write(root, 'way/new', of('x'), options), { code: 'not_found' });
  await assert.rejects(files.write(root, 'way/deep/new', of('x'), options), { code: 'not_found' });
  await assert.rejects(files.list(root, 'way'), { code: 'not_found' });
  assert.deepEqual(await files.walk(root, ''), []);
  assert.deepEqual(await files.walk(root, 'way'), []);
  assert.deepEqual(await files.changed(root, '', 0), []);
  assert.deepEqual((await readdir(directory)).sort(), ['secret', 'workspace']);
  // A write takes the link's name, and leaves what it pointed to alone.
  await files.write(root, 'file', of('mine'), options);
  assert.equal(await readFile(secret, 'utf8'), 'secret');
  assert.ok((await lstat(join(root, 'file'))).isFile());
});

test('a write whose directory is removed meanwhile is refused', async (t) => {
  const { root } = await workspace(t);
  await mkdir(join(root, 'sub'));
  async function* body() {
    yield Buffer.from('some');
    await rm(join(root, 'sub'), { recursive: true });
    yield Buffer.from('thing');
  }
  await assert.rejects(files.write(root, 'sub/file', Readable.from(body()), options), { code: 'bad_request' });
});

test('a write goes through no hard link', async (t) => {
  const { root, secret } = await workspace(t);
  await link(secret, join(root, 'linked'));
  await files.write(root, 'linked', of('mine'), options);
  assert.equal(await readFile(secret, 'utf8'), 'secret');
  assert.equal(await readFile(join(root, 'linked'), 'utf8'), 'mine');
});

test('a directory that becomes a link at every moment never leads out', async (t) => {
  const { root, directory } = await workspace(t);
  await mkdir(join(directory, 'outside'));
  await writeFile(join(directory, 'outside/file'), 'secret');
  execFileSync('sh', ['-c', 'mkdir a.dir; echo inside > a.dir/file; ln -s ../outside a.link'], { cwd: root });
  const racing = `
    const { renameSync, rmSync } = require('node:fs');
    for (;;) for (const name of ['a.dir', 'a.link']) {
      try { renameSync(name, 'a'); renameSync('a', name); } catch { try { rmSync('a', { recursive: true, force: true }); } catch {} }
    }`;
  const racer = spawn(process.execPath, ['-e', racing], { cwd: root, stdio: 'ignore' });
  t.after(() => racer.kill('SIGKILL'));
  let seen = 0;
  for (let i = 0; i < 2000; i += 1) {
    const text = await files.read(root, 'a/file').then(
      ({ body }) => textOf(body),
      () => undefined,
    );
    if (text !== undefined) seen += 1;
    assert.notEqual(text, 'secret');
    if (i % 10 === 0) await files.write(root, 'a/new', of('x'), options).catch(() => {});
  }
  assert.deepEqual(await readdir(join(directory, 'outside')), ['file']);
  assert.ok(seen > 0);
});

test('FIFOs, sockets and directories are not read, and nothing waits for them', { timeout: 10_000 }, async (t) => {
  const { root } = await workspace(t);
  execFileSync('mkfifo', [join(root, 'fifo')]);
  await mkdir(join(root, 'directory'));
  const server = createServer().listen(join(root, 'socket'));
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  for (const path of ['fifo', 'socket', 'directory', 'absent', '', 'fifo/x']) {
    await assert.rejects(files.read(root, path), { code: 'not_found' }, path);
  }
  assert.deepEqual(
    (await files.list(root, '')).map(({ path, type }) => [path, type]),
    [
      ['directory', 'directory'],
      ['fifo', 'other'],
      ['socket', 'other'],
    ],
  );
  assert.deepEqual(await files.walk(root, ''), []);
  await files.write(root, 'fifo', of('now a file'), options);
  await assert.rejects(files.write(root, 'directory', of('x'), options), { code: 'bad_request' });
});

test('a body that is too long, or breaks off, leaves the file that was there and nothing else', async (t) => {
  const { root } = await workspace(t);
  await files.write(root, 'a', of('before'), options);
  await assert.rejects(files.write(root, 'a', of('x'.repeat(1001)), options), (error) => error instanceof FileTooLarge);
  const broken = Readable.from(
    (function* () {
      yield Buffer.from('half');
      throw new Error('connection lost');
    })(),
  );
  await assert.rejects(files.write(root, 'a', broken, options), /connection lost/);
  assert.deepEqual(await readdir(root), ['a']);
  assert.equal(await readFile(join(root, 'a'), 'utf8'), 'before');
});

test('a full file system is workspace_too_large', { skip: needsRoot }, async (t) => {
  const { root } = await workspace(t);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', root]);
  try {
    const body = Readable.from([Buffer.alloc(100_000)]);
    await assert.rejects(files.write(root, 'a', body, { ...options, mostBytes: 1e9 }), { code: 'workspace_too_large' });
    assert.deepEqual(await readdir(root), []);
  } finally {
    execFileSync('umount', ['-l', root]);
  }
});

test('what changed since an instant is found and hashed, older files are not', async (t) => {
  const { root } = await workspace(t);
  await mkdir(join(root, 'out/deep'), { recursive: true });
  await writeFile(join(root, 'out/old'), 'old');
  await new Promise((resolve) => setTimeout(resolve, 60));
  const since = Date.now() - 20;
  await writeFile(join(root, 'out/deep/new'), 'new');
  // Set back by its owner: the ctime tells.
  await utimes(join(root, 'out/deep/new'), 1, 1);
  // A hole of 4 TiB must not be read through.
  await writeFile(join(root, 'out/hole'), '');
  await truncate(join(root, 'out/hole'), 4 * 1024 ** 4);
  const sha256 = createHash('sha256').update('new').digest('hex');
  assert.deepEqual(await files.changed(root, 'out', since), [{ path: 'out/deep/new', sha256, bytes: 3 }]);
  assert.deepEqual(await files.changed(root, 'absent', 0), []);
});

test('what a command left is hashed once an inode, and no more of it than a workspace holds', async (t) => {
  const { root } = await workspace(t);
  for (const [name, size] of Object.entries({ a: 8, b: 1001, c: 992, d: 1 })) {
    await writeFile(join(root, name), Buffer.alloc(size));
  }
  await link(join(root, 'c'), join(root, 'e'));
  const found = await createFiles(1000).changed(root, '', 0);
  assert.deepEqual(
    found.map(({ path, bytes }) => [path, bytes]),
    [
      ['a', 8],
      ['c', 992],
      ['e', 992],
    ],
  );
  assert.equal(found[1]?.sha256, found[2]?.sha256);
});

test('hashing ends when nobody waits for it any more', async (t) => {
  const { root } = await workspace(t);
  await writeFile(join(root, 'a'), '');
  await truncate(join(root, 'a'), 2 * 1024 ** 3);
  await assert.rejects(files.changed(root, '', 0, AbortSignal.abort()), { name: 'AbortError' });
  const asked = new AbortController();
  const hashing = files.changed(root, '', 0, asked.signal);
  setImmediate(() => asked.abort());
  await assert.rejects(hashing, { name: 'AbortError' });
});

test('a file that says it is longer than a workspace is not read', async (t) => {
  const { root } = await workspace(t);
  await writeFile(join(root, 'hole'), '');
  await truncate(join(root, 'hole'), 4 * 1024 ** 4);
  await assert.rejects(files.read(root, 'hole'), { code: 'workspace_too_large' });
});

test('a listing is limited, and any time a file says can be told', async (t) => {
  const { root } = await workspace(t);
  execFileSync(
    'sh',
    ['-c', `seq -f 'f%.0f' ${mostEntries + 50} | xargs touch; mkdir d; cd d; touch -d @-99999999999 a`],
    {
      cwd: root,
    },
  );
  await assert.rejects(files.list(root, ''), { code: 'workspace_too_large' });
  await assert.rejects(files.walk(root, ''), { code: 'workspace_too_large' });
  assert.ok((await files.changed(root, '', 0)).length <= mostEntries + 1);
  assert.match((await files.list(root, 'd'))[0]?.mtime ?? '', /^\d{4}-\d\d-\d\dT/);
});

test('the archive holds files, directories and links as they are', async (t) => {
  const { root, directory } = await workspace(t);
  await files.write(root, 'a/b', of('text'), options);
  await symlink('/etc/passwd', join(root, 'link'));
  execFileSync('mkfifo', [join(root, 'fifo')]);
  const tar = join(directory, 'a.tar');
  await writeFile(tar, files.archive(root));
  const listed = execFileSync('tar', ['-tf', tar], { encoding: 'utf8' }).trim().split('\n').sort();
  assert.deepEqual(listed, ['./', './a/', './a/b', './fifo', './link']);
  await assert.rejects(textOf(files.archive(join(directory, 'absent'))), /absent/);
});

test('a link that stays inside leads where it does inside, as the file and on the way', async (t) => {
  const { root } = await workspace(t);
  await mkdir(join(root, 'runs/one'), { recursive: true });
  await writeFile(join(root, 'runs/one/result'), 'one');
  await writeFile(join(root, 'top'), 'top');
  const links = {
    latest: 'runs/one',
    'runs/newest': '/workspace/runs/one/',
    'runs/one/up': '../../top',
    again: 'latest/./result',
    root: '/workspace',
    loop: 'loop',
    'runs/out': '../..',
    ends: 'runs/..',
  };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name));
  const read = async (path: string) => textOf((await files.read(root, path)).body);
  for (const path of ['latest/result', 'runs/newest/result', 'again', 'root/again', 'root/root/latest/result']) {
    assert.equal(await read(path), 'one', path);
  }
  assert.equal(await read('latest/up'), 'top');
  assert.deepEqual(
    (await files.list(root, 'latest')).map(({ path }) => path),
    ['latest/result', 'latest/up'],
  );
  for (const path of ['loop', 'loop/x', 'runs/out/top', 'ends', 'latest/none', 'top/x']) {
    await assert.rejects(files.read(root, path), { code: 'not_found' }, path);
  }
  await files.write(root, 'latest/new', of('n'), options);
  assert.equal(await readFile(join(root, 'runs/one/new'), 'utf8'), 'n');
  await assert.rejects(files.write(root, 'runs/out/x', of('n'), options), { code: 'not_found' });
});

test('a path may begin as it is inside: /workspace/…', async (t) => {
  const { root } = await workspace(t);
  assert.equal((await files.write(root, '/workspace/a/b', of('x'), options)).path, 'a/b');
  assert.equal(await textOf((await files.read(root, '/workspace/a/b')).body), 'x');
  assert.deepEqual(
    (await files.list(root, '/workspace')).map(({ path }) => path),
    ['a'],
  );
  for (const path of ['/workspace/../secret', '/workspaces/a', '/etc']) {
    await assert.rejects(files.read(root, path), { code: 'bad_request' }, path);
  }
});

test('a file that is written again stays the same file, with its owner and mode, for who has it open', async (t) => {
  const { root } = await workspace(t);
  await files.write(root, 'run.sh', of('first, and longer'), options);
  await chmod(join(root, 'run.sh'), 0o755);
  await using held = await open(join(root, 'run.sh'));
  const { ino } = await held.stat();
  const written = await files.write(root, 'run.sh', of('second'), options);
  assert.deepEqual(written, { path: 'run.sh', bytes: 6, sha256: createHash('sha256').update('second').digest('hex') });
  assert.equal((await held.readFile()).toString(), 'second');
  const now = await stat(join(root, 'run.sh'));
  assert.deepEqual([now.ino, now.uid, now.mode & 0o777, now.nlink], [ino, uid, 0o755, 1]);
  assert.deepEqual(await readdir(root), ['run.sh']);
  // Read-only is for what replaces it.
  await files.write(root, 'run.sh', of('input'), { ...options, readOnly: true });
  await files.write(root, 'run.sh', of('input again'), { ...options, readOnly: true });
  assert.notEqual((await stat(join(root, 'run.sh'))).ino, ino);
});

test('a body that breaks off, or is too much, leaves the file as it was', async (t) => {
  const { root } = await workspace(t);
  await files.write(root, 'file', of('before'), options);
  async function* broken() {
    yield Buffer.from('af');
    throw new Error('gone');
  }
  await assert.rejects(files.write(root, 'file', Readable.from(broken()), options), /gone/);
  await assert.rejects(files.write(root, 'file', of('x'.repeat(2000)), options), FileTooLarge);
  assert.equal(await readFile(join(root, 'file'), 'utf8'), 'before');
  assert.deepEqual(await readdir(root), ['file']);
});

test('whether anything in a tree changed is told of contents, names and modes, in small trees and large', async (t) => {
  const { root } = await workspace(t);
  await mkdir(join(root, 'deep/er'), { recursive: true });
  await writeFile(join(root, 'deep/er/file'), '1');
  await writeFile(join(root, 'other'), '1');
  /** An instant that is after all that was done, and before all that is done. */
  const instant = async (): Promise<number> => {
    await delay(40);
    return Date.now() - 20;
  };
  const changes: (() => Promise<unknown>)[] = [
    () => writeFile(join(root, 'deep/er/file'), '2'),
    () => writeFile(join(root, 'deep/new'), ''),
    () => rm(join(root, 'deep/new')),
    () => chmod(join(root, 'other'), 0o600),
    () => symlink('other', join(root, 'link')),
  ];
  for (const more of [0, 400]) {
    for (let i = 0; i < more; i += 1) await writeFile(join(root, `more-${i}`), '');
    const before = await instant();
    assert.equal(await files.hasChanged(root, before), false);
    for (const change of changes) {
      const since = await instant();
      await change();
      assert.equal(await files.hasChanged(root, since), true, String(change));
    }
    await rm(join(root, 'link'));
    assert.equal(await textOf((await files.read(root, 'deep/er/file')).body), '2');
  }
});

test('names that are no UTF-8 are listed with their bytes as %E9, and are read, hashed and written by that', async (t) => {
  const { root } = await workspace(t);
  const bytes = (text: string) => Buffer.from(`${root}/${text}`, 'latin1');
  await mkdir(bytes('out/d\xe9'), { recursive: true });
  await writeFile(bytes('out/d\xe9/caf\xe9 100%E9'), 'bytes');
  await symlink('out/d%E9', join(root, 'link'));
  const path = 'out/d%E9/caf%E9 100%25E9';
  const walked = await files.walk(root, '');
  assert.deepEqual(
    walked.filter(({ type }) => type === 'file').map((one) => one.path),
    [path],
  );
  assert.deepEqual(
    (await files.list(root, 'out/d%E9')).map((one) => one.path),
    [path],
  );
  assert.equal(await textOf((await files.read(root, path)).body), 'bytes');
  const [changed] = await files.changed(root, 'out', 0);
  assert.deepEqual([changed?.path, changed?.bytes], [path, 5]);
  await files.write(root, path, of('new'), options);
  assert.equal(await readFile(bytes('out/d\xe9/caf\xe9 100%E9'), 'utf8'), 'new');
  // What has the name as text comes first, and what nothing has is made as it is spelled.
  await files.write(root, 'out/x%E9', of('text'), options);
  await writeFile(bytes('out/x\xe9'), 'other');
  assert.equal(await textOf((await files.read(root, 'out/x%E9')).body), 'text');
  const long = Buffer.from('c89bff'.repeat(63), 'hex');
  await writeFile(Buffer.concat([Buffer.from(`${root}/`), long]), 'long');
  assert.equal(await textOf((await files.read(root, 'ț%FF'.repeat(63))).body), 'long');
  await assert.rejects(files.read(root, 'out/y%E9'), { code: 'not_found' });
});
