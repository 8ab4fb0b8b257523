import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { hasCommand } from '../system-packages.ts';
import { createRuntime } from './runtime.ts';

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex');
const skip = hasCommand('dpkg-deb') ? false : 'needs dpkg-deb to make a package';

/** A mirror with a package of a small program. */
async function mirror(t: TestContext) {
  const directory = await temporaryDirectory(t);
  const tree = join(directory, 'tree');
  const program = '#!/bin/sh\necho runsc\n';
  await mkdir(join(tree, 'usr/bin'), { recursive: true });
  await mkdir(join(tree, 'DEBIAN'));
  await writeFile(
    join(tree, 'DEBIAN/control'),
    'Package: runsc\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n',
  );
  await writeFile(join(tree, 'usr/bin/runsc'), program, { mode: 0o755 });
  execFileSync('chmod', ['-R', 'go=rX', tree]);
  execFileSync('dpkg-deb', ['-b', tree, join(directory, 'runsc.deb')], { stdio: 'ignore' });
  const deb = await readFile(join(directory, 'runsc.deb'));
  const served = { body: deb, asked: 0 };
  const server = createServer((request, response) => {
    served.asked += 1;
    response.writeHead(request.url === '/debian/pool/runsc.deb' ? 200 : 404).end(served.body);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  const pin = { path: 'pool/runsc.deb', debSha256: sha256(deb), runscSha256: sha256(program) };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/debian`;
  return { pin, url, served, dir: join(directory, 'store') };
}

test('runsc is fetched once, kept, and fetched anew when the file is not what it was', { skip }, async (t) => {
  const { pin, url, served, dir } = await mirror(t);
  const runtime = createRuntime({ dir, mirror: url, pin });
  const [path, same] = await Promise.all([runtime.runsc(), runtime.runsc()]);
  assert.equal(path, same);
  assert.equal(execFileSync(path, { encoding: 'utf8' }), 'runsc\n');
  assert.equal(await createRuntime({ dir, mirror: url, pin }).runsc(), path);
  assert.equal(served.asked, 1);
  await truncate(path, 5);
  await mkdir(join(dir, '.runsc-left-behind'));
  await createRuntime({ dir, mirror: url, pin }).runsc();
  assert.equal(served.asked, 2);
  assert.equal((await readdir(dir)).length, 1);
});

test('another file than the pinned one is refused, and the refusal says what to do', { skip }, async (t) => {
  const { pin, url, served, dir } = await mirror(t);
  served.body = Buffer.from('something else');
  const runtime = createRuntime({ dir, mirror: url, pin });
  await assert.rejects(runtime.runsc(), { code: 'sandbox_capacity', message: /another hash; put runsc.deb .* at / });
  assert.deepEqual(await readdir(dir), []);
  await assert.rejects(createRuntime({ dir, mirror: `${url}/no`, pin }).runsc(), {
    code: 'sandbox_capacity',
    message: /answers 404/,
  });
});

test('a runsc is changed as its pin says, also one that is there unchanged, and one of other bytes is refused', {
  skip,
}, async (t) => {
  const { pin, url, served, dir } = await mirror(t);
  const changed = '#!/bin/sh\necho mends\n';
  const [from, to] = ['runsc\n', 'mends\n'].map((text) => Buffer.from(text).toString('hex')) as [string, string];
  const patch = { at: 15, from, to, sha256: sha256(changed) };
  const plain = await createRuntime({ dir, mirror: url, pin }).runsc();
  const path = await createRuntime({ dir, mirror: url, pin: { ...pin, patch } }).runsc();
  assert.equal(execFileSync(path, { encoding: 'utf8' }), 'mends\n');
  assert.equal(served.asked, 1);
  // Who goes back to the version before finds its own.
  assert.equal(execFileSync(plain, { encoding: 'utf8' }), 'runsc\n');
  const other = { ...patch, from: '00'.repeat(6), sha256: sha256('other') };
  await assert.rejects(createRuntime({ dir, mirror: url, pin: { ...pin, patch: other } }).runsc(), {
    message: /cannot unpack gVisor's runtime: .* not the one that the patch is for/,
  });
  assert.equal((await readdir(dir)).length, 2);
});
