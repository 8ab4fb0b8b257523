import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { openTest } from '../../testing.ts';
import { checkPlatform } from '../../doctor.platform.ts';
import { type Blobs, openFileBlobs } from './blobs.ts';
import { acceptStore, claimStore, findStore } from './blobs.marker.ts';

describe('the store of a platform', () => {
  const { gateway } = shared(() => openTest());
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-store-'));
    await gateway.kernel.sql`delete from kernel.facts where name = 'blob_store'`;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const storeAt = (name: string): Blobs => openFileBlobs(join(folder, name));
  const claim = (blobs: Blobs, isUnused = false) =>
    claimStore({ sql: gateway.kernel.sql, blobs }, { where: 'here', isUnused: () => Promise.resolve(isUnused) });
  const found = (blobs: Blobs) => findStore({ sql: gateway.kernel.sql, blobs });
  const refused = {
    name: 'CommandError',
    message: /^here: not the store .* shared volume or a bucket .* storage accept$/,
  };

  test('is marked by the first start, whatever is in it, and is that of every later one', async () => {
    const blobs = storeAt('one');
    await blobs.put('artifacts/1', Buffer.from('of the release before'));
    assert.equal(await found(blobs), 'unmarked');
    for (let start = 0; start < 3; start += 1) await claim(blobs);
    assert.deepEqual([await found(blobs), await blobs.list('')], ['same', ['artifacts/1', 'store.id']]);
    cpSync(join(folder, 'one'), join(folder, 'moved'), { recursive: true });
    await claim(storeAt('moved'));
  });

  test('is refused where another part has another one: empty, or of somebody else', async () => {
    await claim(storeAt('one'));
    await assert.rejects(claim(storeAt('two')), refused);
    assert.equal(await found(storeAt('two')), 'missing');
    await storeAt('three').put('store.id', Buffer.from('of another platform'));
    for (const isUnused of [false, true]) await assert.rejects(claim(storeAt('three'), isUnused), refused);
    assert.equal(await found(storeAt('three')), 'other');
    await claim(storeAt('one'));
  });

  test('of parts that start at once all have the one that was first', async () => {
    const same = await Promise.allSettled(Array.from({ length: 8 }, () => claim(storeAt('one'))));
    assert.deepEqual(new Set(same.map(({ status }) => status)), new Set(['fulfilled']));
    await gateway.kernel.sql`delete from kernel.facts where name = 'blob_store'`;
    const apart = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => claim(storeAt(name))));
    assert.equal(apart.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test('may be empty and new where nothing was ever stored, and when the operator says so', async () => {
    await claim(storeAt('one'));
    await claim(storeAt('two'), true);
    assert.deepEqual([await found(storeAt('one')), await found(storeAt('two'))], ['other', 'same']);
    await assert.rejects(claim(storeAt('one')), refused);
    await acceptStore({ sql: gateway.kernel.sql, blobs: storeAt('one') });
    await claim(storeAt('one'));
    await acceptStore({ sql: gateway.kernel.sql, blobs: storeAt('new') });
    await claim(storeAt('new'));
  });

  test('a bucket that platforms share, or whose database was made anew, keeps its mark', async () => {
    await storeAt('one').put('store.id', Buffer.from('of before'));
    await claim(storeAt('one'));
    assert.equal(await found(storeAt('one')), 'same');
  });

  test('one that cannot be used ends the start with a sentence', async () => {
    const broken = { ...storeAt('one'), put: () => Promise.reject(new Error('no such bucket')) };
    await assert.rejects(claim(broken), {
      name: 'CommandError',
      message: 'here cannot be used to store files: no such bucket',
    });
  });

  test('is looked at by doctor and System', async () => {
    const { kernel } = gateway;
    const check = async () => (await checkPlatform(kernel)).find(({ name }) => name === 'storage');
    await claim(storeAt('elsewhere'));
    const { ok, found: said, fix } = (await check()) ?? {};
    assert.deepEqual([ok, /not the store/.test(said ?? ''), /shared volume/.test(fix ?? '')], [false, true, true]);
    await acceptStore(kernel);
    assert.equal((await check())?.ok, true);
  });

  test('of the shipped parts is one volume', () => {
    const compose = readFileSync(join(import.meta.dirname, '../../../../../deploy/compose/compose.yaml'), 'utf8');
    const [, gateways = '', workers = ''] =
      /\n {2}gateway: &gateway\n([^]*?)\n {2}worker:\n([^]*?)\n {2}relay:/.exec(compose) ?? [];
    assert.match(gateways, /volumes: \[files:\/var\/lib\/svc\/blobs\]/);
    assert.match(workers, /<<: \*gateway/);
    assert.doesNotMatch(workers, /volumes/);
  });
});
