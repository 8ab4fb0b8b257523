import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chown, mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { needsRoot, temporaryDirectory } from '../parts.testing.ts';
import { createSystemPackages } from '../system-packages.ts';
import { kindsOfThisKernel, onlyVanished, type VolumeKind } from './kinds.ts';
import { openWorkspaces, type WorkspaceOptions } from './workspaces.ts';

const packages = createSystemPackages(true);
const mib = 1024 ** 2;
const limits = { bytes: 64 * mib, inodes: 2000 };
const uid = process.getuid?.() === 0 ? 1000 : (process.getuid?.() ?? 0);

async function opened(t: TestContext, options: Partial<WorkspaceOptions> = {}) {
  const dir = options.dir ?? (await mkdtempFor(t));
  const volume = { sizeBytes: 1024 * mib, reserveBytes: 0, ...options.volume };
  return openWorkspaces({ dir, packages, limits, ...options, volume });
}

/** Whether another user can run what is here. */
const isReadable = !needsRoot && spawnSync('test', ['-r', import.meta.filename], { uid: 1000 }).status === 0;

/** Unmounted before it goes. */
async function mkdtempFor(t: TestContext): Promise<string> {
  let dir = '';
  t.after(() => {
    execFileSync('sh', ['-c', 'umount "$1/mnt" 2>/dev/null || true', 'sh', dir]);
  });
  dir = await temporaryDirectory(t);
  return dir;
}

const inside = (path: string, script: string) =>
  execFileSync('sh', ['-c', script], { cwd: path, encoding: 'utf8', stdio: 'pipe' }).trim();

for (const kind of ['xfs', 'btrfs', 'plain'] as const) {
  const skip = kind === 'plain' ? false : needsRoot;
  const options = (name: VolumeKind | 'plain') => (name === 'plain' ? { plain: true } : { volume: volumeOf(name) });

  test(`${kind}: a workspace is its user's alone, and what is removed is gone`, { skip }, async (t) => {
    const it = await opened(t, options(kind));
    assert.equal(it.kind, kind, it.reason ?? '');
    const path = await it.create('one', uid);
    assert.equal(path, it.path('one'));
    const [all, out] = [await stat(path), await stat(join(path, 'out'))];
    assert.deepEqual([all.uid, all.gid, all.mode & 0o7777, out.uid], [uid, all.gid, 0o700, uid]);
    await assert.rejects(it.create('one', uid), /there already/);
    assert.deepEqual(await it.list(), ['one']);
    // Deeper than a path can be long, names of any bytes, nothing readable.
    inside(
      path,
      `i=0; while [ $i -lt 300 ]; do mkdir ddddddddddddddddddddd && cd -P ddddddddddddddddddddd; i=$((i+1)); done; touch x`,
    );
    inside(path, `touch -- "$(printf '\\377\\n-rf')" '-f'; mkdir closed; touch closed/x; chmod 0 closed`);
    await it.remove('one');
    await it.remove('one');
    assert.deepEqual(await it.list(), []);
    assert.deepEqual(await readdir(join(path, '..', '..', '..', 'trash')), []);
    for (const id of ['', '..', 'a/b', '.x', '-x']) assert.throws(() => it.path(id), { code: 'bad_request' });
  });

  test(`${kind}: a copy is the same and is its own`, { skip }, async (t) => {
    const it = await opened(t, options(kind));
    const from = await it.create('from', uid);
    await writeFile(join(from, 'a'), 'text');
    inside(from, 'ln a linked; ln -s /etc/passwd link; mkfifo fifo; mkdir d; touch -d @1000 d/old; chmod 0511 d');
    const to = await it.clone('from', 'to');
    const look = (path: string) => inside(path, "find . -printf '%p %y %l %m %U %T@ %n\\n' | sort");
    assert.equal(look(to), look(from));
    await writeFile(join(to, 'a'), 'other');
    assert.equal(await readFile(join(to, 'linked'), 'utf8'), 'other');
    assert.equal(await readFile(join(from, 'a'), 'utf8'), 'text');
    await assert.rejects(it.clone('absent', 'new'));
    assert.deepEqual((await it.list()).sort(), ['from', 'to']);
    for (const id of await it.list()) await it.remove(id);
  });

  test(`${kind}: what a workspace takes is counted`, { skip }, async (t) => {
    const it = await opened(t, options(kind));
    const path = await it.create('one', uid);
    await writeFile(join(path, 'a'), Buffer.alloc(4 * mib, 1));
    inside(path, 'sync -f .');
    const { bytes, inodes } = await it.usage('one');
    assert.ok(bytes >= 4 * mib && bytes < 6 * mib, String(bytes));
    assert.equal(inodes, 5);
    assert.equal(await it.isTooLarge('one', 0), false);
  });
}

test('what a user installs is beside the workspace, within its limit, and in each copy', {
  skip: needsRoot,
}, async (t) => {
  const it = await opened(t);
  if (!it.limited) return t.skip(it.reason ?? 'no limits');
  const path = await it.create('one', uid);
  const local = it.local('one') ?? '';
  assert.deepEqual(await readdir(path), ['out']);
  assert.equal((await stat(local)).uid, uid);
  inside(local, 'dd if=/dev/zero of=package bs=1M count=40 2>&1');
  assert.throws(() => inside(path, 'dd if=/dev/zero of=big bs=1M count=40'), /quota|space/i);
  await it.clone('one', 'two');
  assert.deepEqual(await readdir(it.local('two') ?? ''), ['package']);
  assert.throws(() => inside(it.local('two') ?? '', 'dd if=/dev/zero of=more bs=1M count=40'), /quota|space/i);
});

test('a workspace of a release before stays where it is, and so do its copies', async (t) => {
  const dir = await mkdtempFor(t);
  const older = join(dir, 'plain/workspaces');
  await mkdir(join(older, 'one'), { recursive: true });
  const it = await opened(t, { dir, plain: true });
  await it.clone('one', 'two');
  await it.create('three', uid);
  for (const id of ['one', 'two']) {
    assert.deepEqual([it.path(id), it.local(id)], [join(older, id), undefined]);
  }
  assert.notEqual(it.local('three'), undefined);
  assert.deepEqual((await it.list()).sort(), ['one', 'three', 'two']);
  await assert.rejects(it.create('one', uid), /there already/);
  for (const id of await it.list()) await it.remove(id);
  assert.deepEqual(await readdir(older), []);
});

function volumeOf(kind: VolumeKind) {
  return { kind, sizeBytes: 1024 * mib, reserveBytes: 0 };
}

test('a workspace that is full leaves room for the others, a copy has the same limit', {
  skip: needsRoot,
}, async (t) => {
  const it = await opened(t);
  if (!it.limited) return t.skip(it.reason ?? 'no limits');
  const path = await it.create('one', uid);
  assert.throws(() => inside(path, 'dd if=/dev/zero of=big bs=1M count=100'), /quota|space/i);
  await it.clone('one', 'two');
  assert.throws(() => inside(it.path('two'), 'dd if=/dev/zero of=more bs=1M count=100'), /quota|space/i);
  const other = await it.create('other', uid);
  inside(other, 'dd if=/dev/zero of=big bs=1M count=40 2>&1');
  await it.remove('one');
  await it.create('one', uid);
  inside(it.path('one'), 'dd if=/dev/zero of=big bs=1M count=40 2>&1');
});

test('workspaces are there after the process, and after the machine, was restarted', { skip: needsRoot }, async (t) => {
  const dir = await mkdtempFor(t);
  const first = await opened(t, { dir });
  await writeFile(join(await first.create('one', uid), 'a'), 'kept');
  await first.close();
  const second = await opened(t, { dir });
  assert.equal(await readFile(join(second.path('one'), 'a'), 'utf8'), 'kept');
  await second.unmount();
  const third = await opened(t, { dir });
  assert.equal(third.kind, first.kind);
  assert.equal(await readFile(join(third.path('one'), 'a'), 'utf8'), 'kept');
});

test('an image that was never finished is made anew; a half made workspace is removed', {
  skip: needsRoot,
}, async (t) => {
  const dir = await mkdtempFor(t);
  await writeFile(join(dir, 'workspaces.img.new'), 'half');
  await writeFile(join(dir, 'workspaces.img'), '');
  await truncate(join(dir, 'workspaces.img'), 400 * mib);
  const it = await opened(t, { dir });
  assert.notEqual(it.kind, 'plain', it.reason ?? '');
  await mkdir(join(dir, 'mnt/trash/one.half'));
  await opened(t, { dir });
  assert.deepEqual(await readdir(join(dir, 'mnt/trash')), []);
});

test('without the tools, and without permission to install them, it says what to do', async (t) => {
  const missing = { ensure: () => Promise.resolve('run as root: apt-get install xfsprogs') };
  const it = await opened(t, { dir: await mkdtempFor(t), packages: missing });
  assert.equal(it.kind, 'plain');
  assert.equal(it.limited, false);
  if (!needsRoot && (await kindsOfThisKernel()).length > 0) assert.match(it.reason ?? '', /apt-get install xfsprogs/);
  await it.create('one', uid);
  await it.remove('one');
});

test('without root, a workspace that took every right from its owner is removed, and what was left of one too', {
  skip: needsRoot || (isReadable ? false : 'user 1000 cannot read this file'),
}, async (t) => {
  const dir = await mkdtempFor(t);
  await chown(dir, 1000, 1000);
  const script = `
    import { execFileSync } from 'node:child_process';
    import { createSystemPackages } from ${JSON.stringify(join(import.meta.dirname, '../system-packages.ts'))};
    import { openWorkspaces } from ${JSON.stringify(join(import.meta.dirname, 'workspaces.ts'))};
    const options = { dir: ${JSON.stringify(dir)}, packages: createSystemPackages(false) };
    const it = await openWorkspaces(options);
    const lock = (path) => execFileSync('sh', ['-c', 'mkdir -p a/b; touch a/b/c; chmod 0 a/b a; chmod 555 .'], { cwd: path });
    lock(await it.create('one', 1000));
    await it.remove('one');
    const left = options.dir + '/plain/trash/two.left';
    execFileSync('mkdir', [left]);
    lock(left);
    await openWorkspaces(options);`;
  const node = [process.execPath, ['--input-type=module', '--eval', script]] as const;
  await promisify(execFile)(...node, { cwd: '/', uid: 1000, gid: 1000 });
  for (const name of ['volumes', 'trash']) assert.deepEqual(await readdir(join(dir, 'plain', name)), []);
});

test('what cannot be removed is told, and the workspaces are there', { skip: needsRoot }, async (t) => {
  const dir = await mkdtempFor(t);
  const held = join(dir, 'plain/trash/held');
  await mkdir(held, { recursive: true });
  await mkdir(join(dir, 'plain/trash/other'));
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', held]);
  try {
    const told: object[] = [];
    const it = await opened(t, { dir, plain: true, log: (_message, details) => told.push(details) });
    assert.deepEqual(
      told.map((details) => 'name' in details && details.name),
      ['held'],
    );
    assert.deepEqual([await it.list(), await readdir(join(dir, 'plain/trash'))], [[], ['held']]);
  } finally {
    execFileSync('umount', [held]);
  }
});

test('a workspace is copied while a process removes files of it', async (t) => {
  const it = await opened(t, { plain: true });
  const path = await it.create('one', uid);
  const busy = 'while :; do mkdir d; for i in $(seq 300); do : > d/$i; done; rm -r d; done';
  const child = spawn('sh', ['-c', busy], { cwd: path, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  for (let copy = 0; copy < 20; copy += 1) await it.clone('one', `copy${copy}`);
  assert.equal((await it.list()).length, 21);
});

test('of what a copy complains of, only files that went away are no matter', () => {
  const gone = "cp: cannot stat '/a/b': No such file or directory\n";
  const replaced = "cp: skipping file '/a/x', as it was replaced while being copied\n";
  const read = 'cp: cannot open "/a/it\'s" for reading: No such file or directory\n';
  assert.ok(onlyVanished(gone + replaced + read, '/a'));
  for (const other of [
    "cp: error writing '/b/c': No space left on device\n",
    "cp: cannot create regular file '/b/c': No such file or directory\n",
    "cp: cannot stat '/a': No such file or directory\n",
    "cp: cannot open '/a/d' for reading: Permission denied\n",
  ]) {
    assert.ok(!onlyVanished(gone + other, '/a'), other);
  }
  assert.ok(!onlyVanished('', '/a'));
});
