import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { placeWrapper, removeWrapper, type Wrapped } from './wrapper.ts';

describe('svc of an invited machine', () => {
  let folder = '';
  let wrapped: Wrapped;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-wrapper-it's-"));
    // Says what it was given, a word a line.
    const program = join(folder, 'host.sh');
    writeFileSync(program, 'printf "%s\\n" "$@"\n');
    const keyFile = join(folder, 'key');
    writeFileSync(keyFile, 'k');
    wrapped = { program: ['/bin/sh', program], url: 'http://u', keyFile, stateDir: join(folder, 's'), user: 'root' };
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  const run = (path: string, ...words: string[]) => spawnSync(path, words, { encoding: 'utf8' });

  test('approves with the key, state and address of the host; other words go through as they are', async () => {
    const path = join(folder, 'bin/svc');
    assert.deepEqual(await placeWrapper(path, wrapped, '/nowhere:/bin'), { isOnPath: false });
    const own = ['--url', 'http://u', '--key-file', wrapped.keyFile, '--state-dir', wrapped.stateDir];
    const words = (...given: string[]) =>
      run(path, ...given)
        .stdout.trimEnd()
        .split('\n');
    assert.deepEqual(words('host', 'approve', 'a b'), ['host', 'approve', ...own, 'a b']);
    assert.deepEqual(words('host', 'exec', 'box', '--', 'ls'), ['host', 'exec', 'box', '--', 'ls']);
    const gone = { ...wrapped, keyFile: join(folder, 'none') };
    assert.deepEqual(await placeWrapper(path, gone, join(folder, 'bin')), { isOnPath: true });
    const { status, stderr } = run(path, 'host', 'approve', 'x');
    assert.deepEqual(
      [status, stderr.trim()],
      [1, 'svc: this host belongs to root, so type: sudo -u root svc host approve x'],
    );
    await removeWrapper(path);
    assert.equal(existsSync(path), false);
  });

  test('another svc on the path stays the one that is meant, and is not taken away', async () => {
    const bin = join(folder, 'other');
    const other = join(bin, 'svc');
    mkdirSync(bin);
    writeFileSync(other, '#!/bin/sh\n');
    chmodSync(other, 0o755);
    const path = join(folder, 'second/svc');
    assert.deepEqual(await placeWrapper(path, wrapped, bin), { other, isOnPath: false });
    assert.equal(existsSync(path), false);
    await removeWrapper(other);
    assert.equal(existsSync(other), true);
  });
});
