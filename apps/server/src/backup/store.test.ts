import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import { isOf, newName, openStore, type Store } from './store.ts';

/** The part of `s3rver` that is used here; it has no types of its own. */
interface S3Server {
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
}
const installation = 'a'.repeat(32);
const bytes = (text: string): Readable => Readable.from([Buffer.from(text)], { objectMode: false });

for (const kind of ['folder', 'bucket'] as const) {
  describe(`backups in a ${kind}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-store-'));
    let server: S3Server | undefined;
    let store: Store;

    before(async () => {
      const settings = { SVC_DATA_DIR: folder };
      if (kind === 'folder') {
        store = await openStore(join(folder, 'kept'), loadConfig({}, settings));
        return;
      }
      const S3rver = createRequire(import.meta.url)('s3rver') as new (options: object) => S3Server;
      const directory = join(folder, 's3');
      mkdirSync(directory);
      const address = { port: 0, address: '127.0.0.1' };
      server = new S3rver({ ...address, silent: true, directory, configureBuckets: [{ name: 'svc-test' }] });
      const { port } = await server.run();
      const access = { SVC_S3_ACCESS_KEY_ID: 'S3RVER', SVC_S3_SECRET_ACCESS_KEY: 'S3RVER' };
      // A bucket of blobs is another matter: backups have their own.
      const endpoint = { SVC_S3_ENDPOINT: `http://127.0.0.1:${port}`, SVC_S3_BUCKET: 'blobs' };
      store = await openStore('s3://svc-test/some/prefix', loadConfig({}, { ...settings, ...access, ...endpoint }));
    });
    after(async () => {
      await server?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test('are listed newest first by the time in their names, and read and removed by them', async () => {
      const [older, newer] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'].map((at) =>
        newName(installation, new Date(at)),
      );
      assert.ok(older && newer);
      for (const name of [older, newer]) await store.put(name, bytes(name));
      await store.put('of-somebody.txt', bytes('no backup'));
      const listed = await store.list();
      assert.deepEqual(
        listed.map(({ name, bytes: length, at }) => [name, length, at.toISOString()]),
        [
          [newer, newer.length, '2026-02-01T00:00:00.000Z'],
          [older, older.length, '2026-01-01T00:00:00.000Z'],
        ],
      );
      assert.ok(listed.every(isOf(installation)));
      assert.ok(!listed.some(isOf('b'.repeat(32))));
      assert.equal((await buffer(await store.open(newer))).toString(), newer);
      await store.remove(older);
      assert.equal((await store.list()).length, 1);
      await assert.rejects(store.open(older), CommandError);
    });

    test('a body that breaks off leaves nothing', async () => {
      const name = newName(installation, new Date('2026-03-01T00:00:00Z'));
      const breaks = Readable.from(
        (function* () {
          yield Buffer.alloc(1_000);
          throw new CommandError('it broke off');
        })(),
        { objectMode: false },
      );
      await assert.rejects(store.put(name, breaks), /it broke off/);
      await assert.rejects(store.open(name), CommandError);
    });

    test('small files are replaced whole, and one that is not there is undefined', async () => {
      assert.equal(await store.read('list.json'), undefined);
      await store.replace('list.json', 'one');
      await store.replace('list.json', 'two');
      assert.equal(await store.read('list.json'), 'two');
    });
  });
}

test('what a process that was killed had begun goes with the next backup, what another one writes now stays', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-store-'));
  try {
    const store = await openStore(folder, loadConfig({}, { SVC_DATA_DIR: folder }));
    writeFileSync(join(folder, 'whole.part-999999999'), 'dead');
    writeFileSync(join(folder, 'movie.zip.part-999999999'), 'of somebody');
    writeFileSync(join(folder, `y.part-${process.ppid}`), 'alive');
    await store.put('whole', bytes('whole'));
    assert.deepEqual(readdirSync(folder).toSorted(), ['movie.zip.part-999999999', 'whole', `y.part-${process.ppid}`]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('what is no file is refused at once, a pipe too', { skip: process.platform !== 'linux' }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-store-'));
  try {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const store = await openStore(folder, loadConfig({}, { SVC_DATA_DIR: folder }));
    await assert.rejects(store.open('pipe'), /is no file/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
