import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type DetailedError, Upload, type UploadOptions } from 'tus-js-client';
import { beginUpload, offsetOf, openPatch } from '../apps/server/src/features/uploads/uploads.testing.ts';
import { randomOf, suiteSeed } from '../apps/server/src/testing.random.ts';
import { http, until } from '../apps/server/src/testing.ts';
import { asked } from './looking.ts';
import { freePort, killAll, noSandboxes, type Platform, startPlatform, temporaryFolder } from './platform.ts';
import { openStore, type Store } from './stores.ts';

const mib = 1024 * 1024;
/** Of each store; each takes 3 s. */
const kills = Number(process.env['SVC_TEST_KILLS'] ?? 2);
const seed = suiteSeed;
const canMount = process.getuid?.() === 0 && process.platform === 'linux';

const idOf = (url: string | null): string => /[^/]+$/.exec(url ?? '')?.[0] ?? '';

/** What the rows count of an upload, each piece as long in the store as its row says. */
async function storedOf(dataDir: string, { blobs }: Pick<Store, 'blobs'>, id: string) {
  const rows = (await asked(
    dataDir,
    `select u.account_id, u.at, p.start, p.token, p.bytes from uploads.uploads u
       left join uploads.parts p on p.upload_id = u.id and p.bytes is not null where u.id = '${id}' order by p.start`,
  )) as { account_id: string; at: number; start: number; token: string | null; bytes: number }[];
  const names: string[] = [];
  let end = 0;
  for (const { account_id: account, start, token, bytes } of rows) {
    if (token === null) continue;
    const name = `uploads/${account}/${id}/${start}-${token}`;
    assert.deepEqual([start, await blobs.size(name)], [end, bytes]);
    names.push(name);
    end += bytes;
  }
  assert.equal(rows[0]?.at, end);
  return { end, names };
}

/** The bytes of an upload, piece by piece from the store. */
async function bytesOf(dataDir: string, store: Pick<Store, 'blobs'>, id: string): Promise<Buffer> {
  const { names } = await storedOf(dataDir, store, id);
  const pieces: Buffer[] = [];
  for (const name of names) {
    const blob = await store.blobs.get(name);
    assert.ok(blob);
    pieces.push(await buffer(blob.body));
  }
  return Buffer.concat(pieces);
}

/** Pieces that requests are bringing. */
async function pendingOf(dataDir: string, id: string): Promise<number> {
  return (await asked(dataDir, `select 1 from uploads.parts where upload_id = '${id}' and bytes is null`)).length;
}

/** Sends a file with tus-js-client, which tries again for as long as a busy machine may need. */
function send({ url, key }: Pick<Platform, 'url' | 'key'>, file: Buffer, options: UploadOptions = {}) {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  const upload = new Upload(file, {
    endpoint: `${url}/v1/uploads`,
    headers: { authorization: `Bearer ${key}` },
    retryDelays: Array.from({ length: 2_000 }, () => 100),
    storeFingerprintForResuming: false,
    onError: reject,
    onSuccess: () => resolve(),
    ...options,
  });
  upload.start();
  done.catch(() => {});
  return { upload, done };
}

for (const kind of ['files', 'S3'] as const) {
  describe(`uploads by tus-js-client, stored as ${kind}, seed ${seed}`, () => {
    const folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const random = randomOf(seed);
    let store: Store;
    let platform: Platform;
    let key: string;

    before(async () => {
      store = await openStore(kind, dataDir);
      platform = await begin();
      key = platform.key;
    });
    after(async () => {
      await platform?.end();
      killAll();
      await store?.[Symbol.asyncDispose]();
      await folder.remove();
    });
    const begin = async (port?: number): Promise<Platform> =>
      startPlatform(dataDir, port ?? (await freePort()), { ...noSandboxes, ...store.settings });

    test(`a gateway that is killed ${kills} times while a file comes loses no byte, and HEAD never says more than is stored`, {
      timeout: 600_000 + 60_000 * kills,
    }, async () => {
      const file = randomBytes(16 * mib + Math.floor(random() * mib));
      const chunkSize = mib + Math.floor(random() * 4 * mib);
      let sent = 0;
      const { upload, done } = send({ ...platform, key }, file, {
        chunkSize,
        uploadDataDuringCreation: random() < 0.5,
        onProgress: (bytes) => {
          sent = bytes;
        },
      });
      let isDone = false;
      void done.then(() => {
        isDone = true;
      });
      const check = async (): Promise<number> => {
        if (upload.url === null) return 0;
        const { end } = await storedOf(dataDir, store, idOf(upload.url));
        return end;
      };
      const instants = Array.from({ length: kills }, () => random() * 0.8 * file.length).sort((a, b) => a - b);
      for (const instant of instants) {
        await until(() => sent >= instant || isDone);
        await delay(random() * 20);
        await platform.end('SIGKILL');
        await check();
        platform = await begin(platform.port);
        if (upload.url === null) continue;
        const said = await offsetOf({ url: upload.url }, { key });
        assert.ok(said <= (await check()));
      }
      await done;
      assert.ok((await bytesOf(dataDir, store, idOf(upload.url))).equals(file));
      assert.equal(await offsetOf({ url: upload.url as string }, { key }), file.length);
    });

    test('two clients that send one file through two gateways end with the file, while a third stalls', async () => {
      const second = await begin();
      const file = randomBytes(4 * mib);
      const upload = await beginUpload(platform, { key }, file.length);
      const stalled = openPatch(upload, { key }, 0, mib);
      stalled.patch.write(randomBytes(mib / 2));
      await until(async () => (await pendingOf(dataDir, upload.id)) === 1);
      for (const { url } of [platform, second])
        assert.equal(await offsetOf({ url: `${url}/v1/uploads/${upload.id}` }, { key }), 0);
      const writers = [platform, second].map(({ url }, n) =>
        send({ url, key }, file, {
          uploadUrl: `${url}/v1/uploads/${upload.id}`,
          chunkSize: (n + 1) * 600_000,
          // One gives way for longer and longer: each ends the other's request.
          retryDelays: Array.from({ length: 500 }, (_, tries) => (n + 1) * 50 + n * tries * 50),
        }),
      );
      await Promise.all(writers.map(({ done }) => done));
      assert.equal(await stalled.status, 409);
      stalled.patch.destroy();
      assert.ok((await bytesOf(dataDir, store, upload.id)).equals(file));
      await second.end();
    });

    test('the client begins with bytes, ends an upload for good, and begins anew where one has expired', async () => {
      const file = randomBytes(3 * mib);
      const first = send({ ...platform, key }, file, {
        chunkSize: 2 * mib,
        uploadDataDuringCreation: true,
        parallelUploads: 1,
      });
      await first.done;
      const id = idOf(first.upload.url);
      assert.ok((await bytesOf(dataDir, store, id)).equals(file));
      assert.equal((await storedOf(dataDir, store, id)).names.length, 2);
      await first.upload.abort(true);
      assert.equal((await http(platform.url, `/v1/uploads/${id}`, { key })).status, 404);
      assert.deepEqual(
        (await store.blobs.list('uploads/')).filter((name) => name.includes(id)),
        [],
      );

      const expired = await beginUpload(platform, { key }, file.length);
      await asked(dataDir, `update uploads.uploads set expires_at = now() where id = '${expired.id}'`);
      const anew = send({ ...platform, key }, file, { uploadUrl: expired.url, chunkSize: mib });
      await anew.done;
      assert.notEqual(idOf(anew.upload.url), expired.id);
      assert.ok((await bytesOf(dataDir, store, idOf(anew.upload.url))).equals(file));
    });

    if (kind === 'S3') return;
    test('a full disk refuses pieces with 503 and keeps what it has, and takes them once there is room', {
      skip: !canMount && 'needs root',
    }, async () => {
      const place = join(dataDir, 'blobs');
      const tmpfs = (options: string) => execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', place]);
      tmpfs('size=5m,mode=777');
      await using _mounted = { [Symbol.asyncDispose]: async () => void execFileSync('umount', ['-l', place]) };
      const file = randomBytes(9 * mib);
      const refused = Promise.withResolvers<{ status: number; body: string }>();
      const { upload, done } = send({ ...platform, key }, file, {
        chunkSize: 2 * mib,
        onShouldRetry: ({ originalResponse: answer }: DetailedError) => {
          refused.resolve({ status: answer?.getStatus() ?? 0, body: answer?.getBody() ?? '' });
          return true;
        },
      });
      const { status, body } = await refused.promise;
      assert.deepEqual([status, JSON.parse(body).error.code], [503, 'unavailable'], body);
      const id = idOf(upload.url);
      assert.equal(await offsetOf({ url: upload.url as string }, { key }), 4 * mib);
      assert.equal((await storedOf(dataDir, store, id)).end, 4 * mib);
      tmpfs('remount,size=32m');
      await done;
      assert.ok((await bytesOf(dataDir, store, id)).equals(file));
      assert.deepEqual(readdirSync(join(place, 'unfinished')), []);
    });
  });
}
