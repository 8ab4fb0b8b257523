import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { CommandError } from '../kernel/base/command-error.ts';
import { randomOf, suiteSeed } from '../testing.random.ts';
import { formatVersion, type Header, names } from './format.ts';
import { openSealed, verifyBackup } from './reader.ts';
import { newSeal, type Seal } from './seal.ts';
import { BackupWriter } from './writer.ts';

const passphrase = 'correct horse battery staple';
const header: Header = {
  svc_backup: formatVersion,
  svc: '0.1.0',
  created_at: '2026-01-01T00:00:00.000Z',
  installation: 'an installation',
  migration: '0001.kernel.core',
  postgres: { major: 18, platform: 'linux', arch: 'x64' },
  seal: null,
};
const rest = { finished_at: header.created_at, rows: { 'kernel.facts': 3 }, sandboxes: { kept: [], left: [] } };

/** A small backup; `blob` makes two of them differ. */
async function written({
  seal,
  blob = randomBytes(20_000),
  about = {},
}: {
  seal?: Seal;
  blob?: Buffer;
  about?: object;
} = {}) {
  const target = new PassThrough();
  const all = buffer(target);
  const writer = new BackupWriter(target, 0);
  await writer.bytes(
    names.header,
    Buffer.from(JSON.stringify({ ...header, seal: seal?.derivation ?? null, ...about })),
  );
  if (seal) await writer.bytes('sealed/master.key', seal.seal('sealed/master.key', Buffer.from('the key')));
  await writer.folder('postgres/base/');
  await writer.bytes('blobs/one', blob);
  await writer.pieces('sandboxes/a/files.tar', Readable.from([blob, blob], { objectMode: false }));
  await writer.close(rest, seal);
  return all;
}
const verify = (bytes: Buffer, given?: string) => verifyBackup(Readable.from([bytes], { objectMode: false }), given);
const refused = (pattern: RegExp) => (error: unknown) => error instanceof CommandError && pattern.test(error.message);

describe('a backup that is read', () => {
  test('is whole when it is what was written, with and without a passphrase', async () => {
    const plain = await verify(await written());
    assert.deepEqual(plain.manifest.rows, rest.rows);
    const seal = newSeal(passphrase);
    const sealed = await written({ seal });
    assert.equal(openSealed(await verify(sealed, passphrase), 'master.key')?.toString(), 'the key');
    // Damage shows without it, and nothing is opened.
    assert.equal(openSealed(await verify(sealed), 'master.key'), undefined);
  });

  test('is refused with another passphrase', async () => {
    const bytes = await written({ seal: newSeal(passphrase) });
    await assert.rejects(verify(bytes, 'another passphrase'), refused(/passphrase is not that of this file/));
  });

  test('is refused wherever it was cut off', async () => {
    const bytes = await written();
    for (let length = 0; length < bytes.length; length += 331)
      await assert.rejects(verify(bytes.subarray(0, length)), refused(/cut off|no backup/), `of ${length} bytes`);
  });

  test('is refused whichever byte of it changed, unless what it says is the same', async () => {
    const random = randomOf(suiteSeed);
    const bytes = await written();
    const { manifest } = await verify(bytes);
    for (let count = 0; count < 200; count += 1) {
      const at = Math.floor(random() * bytes.length);
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      // Some bits of zstd mean nothing: a decoder does not look at them.
      await verify(changed).then(
        (found) => assert.deepEqual(found.manifest, manifest),
        (error: unknown) => assert.ok(error instanceof CommandError, `byte ${at}`),
      );
    }
  });

  test('is refused when an entry was put in the place of another, or comes from another backup', async () => {
    const [one, other] = await Promise.all([written(), written()]).then((all) =>
      all.map((each) => zstdDecompressSync(each)),
    );
    assert.ok(one && other);
    // Behind the header's two blocks and the folder's one: the blob's own head and content.
    const from = one.indexOf('blobs/one');
    const swapped = Buffer.concat([
      one.subarray(0, from),
      other.subarray(from, from + 20_512),
      one.subarray(from + 20_512),
    ]);
    await assert.rejects(verify(zstdCompressSync(swapped)), refused(/blobs\/one is not what its manifest says/));
  });

  test('with a passphrase, one that somebody else put together is refused though all its hashes fit', async () => {
    const seal = newSeal(passphrase);
    const forger = { ...newSeal('the passphrase of a forger'), derivation: seal.derivation };
    await assert.rejects(verify(await written({ seal: forger }), passphrase), refused(/without its passphrase/));
  });

  test('is refused when a newer or an older version wrote its form, with what to do', async () => {
    await assert.rejects(verify(await written({ about: { svc_backup: formatVersion + 1 } })), refused(/newer version/));
    await assert.rejects(verify(await written({ about: { svc_backup: 0 } })), refused(/older version/));
  });

  test('is refused when it is another file: empty, text, another tar, an archive of something else', async () => {
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('no backup'),
      randomBytes(5_000),
      zstdCompressSync(Buffer.from('x')),
    ])
      await assert.rejects(verify(bytes), CommandError);
  });

  test('is refused when a name in it leads elsewhere', async () => {
    for (const name of [
      'data/sandboxd/x',
      'sealed/../x',
      'data/running.json',
      'blobs/../../etc/passwd',
      '/etc/passwd',
      'blobs//x',
      'other/x',
      'blobs/.',
    ]) {
      const target = new PassThrough();
      const all = buffer(target);
      const writer = new BackupWriter(target, 0);
      await writer.bytes(names.header, Buffer.from(JSON.stringify(header)));
      await writer.bytes(name, Buffer.from('x'));
      await writer.close(rest, undefined);
      await assert.rejects(verify(await all), refused(/a name that no backup has/), name);
    }
  });

  test('is refused when something stands behind its end', async () => {
    const bytes = await written();
    for (const more of [Buffer.from('junk'), randomBytes(100_000), bytes])
      await assert.rejects(verify(Buffer.concat([bytes, more])), CommandError);
  });

  test('whose seal was taken off is refused where a passphrase is set', async () => {
    await assert.rejects(verify(await written(), passphrase), refused(/is not sealed, and a passphrase is set/));
  });

  test('that would fill the memory with sealed files is refused', async () => {
    const target = new PassThrough();
    const all = buffer(target);
    const writer = new BackupWriter(target, 0);
    await writer.bytes(names.header, Buffer.from(JSON.stringify(header)));
    for (let n = 0; n < 6; n += 1) await writer.bytes(`sealed/lane-${n}.key`, Buffer.alloc(4 * 1024 * 1024));
    await writer.close(rest, undefined);
    await assert.rejects(verify(await all), refused(/more in it than a backup/));
  });
});
