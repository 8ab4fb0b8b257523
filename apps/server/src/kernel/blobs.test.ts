import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import S3rver from 's3rver';
import { type Blobs, openFileBlobs } from './blobs.ts';
import { openS3Blobs } from './blobs.s3.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-blobs-'));

/** A real S3 server on a free port, as operators run one. */
async function startS3(): Promise<{ blobs: Blobs; stop: () => Promise<void> }> {
  const options = { address: '127.0.0.1', port: 0, silent: true, directory: join(folder, 's3') };
  const server = new S3rver({ ...options, configureBuckets: [{ name: 'bucket', configs: [] }] });
  const { port } = await server.run();
  const settings = { endpoint: `http://127.0.0.1:${port}`, bucket: 'bucket', region: 'us-east-1' };
  return {
    blobs: openS3Blobs({ ...settings, accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }),
    stop: () => server.close(),
  };
}

for (const kind of ['files', 'S3'] as const) {
  describe(`blobs in ${kind}`, () => {
    let blobs: Blobs;
    let stop = (): Promise<void> => Promise.resolve();

    before(async () => {
      if (kind === 'files') blobs = openFileBlobs(join(folder, 'files'));
      else ({ blobs, stop } = await startS3());
    });
    after(async () => {
      await stop();
      if (kind === 'S3') rmSync(folder, { recursive: true, force: true });
    });
    const read = async (name: string, range?: { start: number; end?: number }) => {
      const found = await blobs.get(name, range);
      return found && { text: (await buffer(found.body)).toString(), bytes: found.bytes };
    };

    test('what was put is read back, whole and by range', async () => {
      assert.equal(await blobs.put('a/one.txt', Buffer.from('hello world')), 11);
      assert.deepEqual(await read('a/one.txt'), { text: 'hello world', bytes: 11 });
      assert.deepEqual(await read('a/one.txt', { start: 6 }), { text: 'world', bytes: 5 });
      assert.deepEqual(await read('a/one.txt', { start: 0, end: 4 }), { text: 'hello', bytes: 5 });
      assert.deepEqual(await read('a/one.txt', { start: 50 }), { text: '', bytes: 0 });
      assert.equal(await blobs.size('a/one.txt'), 11);
    });

    test('a stream of 20 MiB is stored whole', async () => {
      const chunk = Buffer.alloc(1024 * 1024, 7);
      assert.equal(await blobs.put('big', Readable.from(Array.from({ length: 20 }, () => chunk))), 20 * chunk.length);
      assert.equal(await blobs.size('big'), 20 * chunk.length);
      const found = await blobs.get('big');
      const bytes = found ? await buffer(found.body) : assert.fail();
      assert.ok(bytes.every((byte) => byte === 7));
    });

    test('putting again replaces the whole', async () => {
      await blobs.put('twice', Buffer.from('a long first version'));
      await blobs.put('twice', Buffer.from('second'));
      assert.equal((await read('twice'))?.text, 'second');
    });

    test('what is missing is undefined, and deleting it is fine', async () => {
      assert.equal(await blobs.get('missing'), undefined);
      assert.equal(await blobs.size('missing'), undefined);
      await blobs.delete('missing');
    });

    test('names are listed below a prefix until they are deleted', async () => {
      for (const name of ['l/b', 'l/a', 'l/c/d', 'other']) await blobs.put(name, Buffer.from('x'));
      assert.deepEqual(await blobs.list('l/'), ['l/a', 'l/b', 'l/c/d']);
      await blobs.delete('l/a');
      assert.deepEqual(await blobs.list('l/'), ['l/b', 'l/c/d']);
      assert.deepEqual(await blobs.list('nothing/'), []);
    });

    test('a source that fails leaves the old bytes and nothing else', async () => {
      await blobs.put('kept', Buffer.from('old'));
      const failing = Readable.from(
        (function* () {
          yield Buffer.from('new');
          throw new Error('the source broke');
        })(),
      );
      await assert.rejects(blobs.put('kept', failing), /broke/);
      assert.equal((await read('kept'))?.text, 'old');
      if (kind === 'files') assert.deepEqual(readdirSync(join(folder, 'files/unfinished')), []);
    });

    test('a name that could leave the store is refused', async () => {
      for (const name of ['../x', 'a/../../x', '/x', 'a//b', '.x', '', 'a\u0000b', 'é', 'x'.repeat(513)]) {
        await assert.rejects(async () => blobs.put(name, Buffer.from('x')), /malformed/, name);
        await assert.rejects(async () => blobs.get(name), /malformed/, name);
      }
    });
  });
}
