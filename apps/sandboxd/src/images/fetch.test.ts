import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { needsRoot, temporaryDirectory } from '../parts.testing.ts';
import type { TarBuilder } from './build.ts';
import { checkAddress, download } from './download.ts';
import { fetchImage, imageName } from './fetch.ts';
import { createImages, type ImageShelf } from './images.ts';
import { recipes } from './recipes.ts';
import { newSigningKey, readSigningKey } from './signature.ts';

/** What no compression makes smaller, and more than one read of a socket. */
const content = randomBytes(600_000);
const builder: TarBuilder = {
  async build(_recipe, { work }, take) {
    const tree = await mkdtemp(join(work, 'tree-'));
    await writeFile(join(tree, 'file'), content);
    const tar = spawn('tar', ['-c', '--mtime=@0', '-C', tree, '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
    await take(tar.stdout);
  },
};

type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

interface Place {
  /** A signed image, as it stands in the folder that is served. */
  file: Buffer;
  name: string;
  key: string;
  /** The folder's address. */
  address: string;
  /** Headers `range` of the requests that came. */
  ranges: (string | undefined)[];
  shelf: ImageShelf;
  dir: string;
  get(changes?: Partial<Parameters<typeof fetchImage>[2]>, address?: string): ReturnType<typeof fetchImage>;
  /** Entries of the directory of images, but for locks and the progress of the last. */
  kept(): Promise<string[]>;
}

/** A signed image, a server that answers by `answer` at whatever address, and a shelf without images. */
async function place(t: TestContext, answer: Answer, change?: (file: Buffer) => Buffer): Promise<Place> {
  const folder = await temporaryDirectory(t);
  const from = createImages({ dir: join(folder, 'from'), builder });
  await from.build('svc-base');
  const key = newSigningKey(join(folder, 'key'));
  const path = join(folder, 'image');
  await from.exportTo('svc-base', path, readSigningKey(join(folder, 'key')));
  const plain = await readFile(path);
  const file = change?.(plain) ?? plain;
  const ranges: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    ranges.push(request.headers.range);
    answer(request, response, file);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/images/`;
  const dir = join(folder, 'to');
  const shelf = createImages({ dir, builder });
  const usual = { key, allowHosts: [], ports: [443], waitsMs: [0, 0] };
  return {
    file,
    name: imageName('svc-base', from.recipe('svc-base')),
    key,
    address,
    ranges,
    shelf,
    dir,
    get: (changes = {}, at = address) => fetchImage(shelf, at, { ...usual, ...changes }),
    kept: async () => (await readdir(dir).catch(() => [])).filter((name) => !/\.(lock|progress)$/.test(name)),
  };
}

/** Sends the range that is asked for, up to `most` bytes of it, and then cuts the connection where more was due. */
function send(
  request: IncomingMessage,
  response: ServerResponse,
  file: Buffer,
  most = file.length,
  etag = '"one"',
): void {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const isPart = start > 0 && request.headers['if-range'] === etag;
  const part = file.subarray(isPart ? start : 0);
  response.writeHead(isPart ? 206 : 200, {
    etag,
    'content-length': part.length,
    ...(isPart && { 'content-range': `bytes ${start}-${file.length - 1}/${file.length}` }),
  });
  if (most >= part.length) response.end(part);
  else response.write(part.subarray(0, most), () => response.destroy());
}

const whole: Answer = (request, response, file) => send(request, response, file);

test('a signed image is fetched from a folder under the name of its version, once, and found from then on', async (t) => {
  const asked: (string | undefined)[] = [];
  const at = await place(t, (request, response, file) => {
    asked.push(request.url);
    whole(request, response, file);
  });
  const heard: [number, number | undefined][] = [];
  const image = await at.get({ onProgress: (...progress) => heard.push(progress) });
  assert.deepEqual(asked, [`/images/${at.name}`]);
  assert.deepEqual(heard.at(-1), [at.file.length, at.file.length]);
  assert.deepEqual(await at.kept(), [image.digest.slice(7)]);
  assert.deepEqual(await readFile(join(image.rootfs, 'file')), content);
  assert.equal((await at.shelf.ready('svc-base', 0)).digest, image.digest);
  assert.equal((await at.get()).digest, image.digest);
  assert.equal(asked.length, 1);
});

test('an address that ends with .image is that of the file, and a query stays', async (t) => {
  const asked: (string | undefined)[] = [];
  const at = await place(t, (request, response, file) => {
    asked.push(request.url);
    whole(request, response, file);
  });
  await at.get({}, `${at.address}any.image?token=x`);
  assert.deepEqual(asked, ['/images/any.image?token=x']);
});

test('a fetch whose connections break goes on where it was, and has every byte once', async (t) => {
  const at = await place(t, (request, response, file) => send(request, response, file, 200_000));
  const image = await at.get();
  assert.deepEqual(await readFile(join(image.rootfs, 'file')), content);
  assert.ok(at.ranges.length >= 3, `${at.ranges.length} requests`);
  const starts = at.ranges.slice(1).map((range) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]));
  assert.deepEqual(
    starts,
    starts.toSorted((a, b) => a - b),
  );
  assert.ok(starts.every((start) => start > 0));
});

test('a server that knows no ranges, or is busy for a while, is asked again, and the image is whole', async (t) => {
  let turn = 0;
  const at = await place(t, (request, response, file) => {
    turn += 1;
    delete request.headers.range;
    if (turn === 2) response.writeHead(503).end();
    else send(request, response, file, turn === 1 ? 200_000 : file.length);
  });
  const image = await at.get();
  assert.deepEqual(await readFile(join(image.rootfs, 'file')), content);
  assert.equal(turn, 3);
});

test('of a file that the key did not sign no more is fetched than its beginning', async (t) => {
  const closed = Promise.withResolvers<void>();
  const at = await place(t, (_request, response, file) => {
    response.once('close', closed.resolve);
    response.writeHead(200, { 'content-length': file.length });
    // The rest never comes.
    response.write(file.subarray(0, 2_000));
  });
  const other = newSigningKey(join(at.dir, '../other'));
  await assert.rejects(at.get({ key: other }), { message: new RegExp(`is not signed with the key ${other}$`) });
  await closed.promise;
  assert.deepEqual(await at.kept(), []);
});

test('a fetch that is stopped leaves nothing and says so', async (t) => {
  const at = await place(t, (_request, response, file) => {
    response.writeHead(200, { 'content-length': file.length });
    response.write(file.subarray(0, 300_000));
  });
  const stop = new AbortController();
  const fetched = at.get({ signal: stop.signal, onProgress: (have) => have >= 300_000 && stop.abort() });
  await assert.rejects(fetched, { message: 'stopped; nothing of the image was kept' });
  assert.deepEqual(await at.kept(), []);
});

test('a way on to a host that the operator allows is followed, and the connection goes to the address that was judged', async (t) => {
  const asked: string[] = [];
  const at = await place(t, (request, response, file) => {
    asked.push(request.headers.host ?? '');
    if (request.headers.host?.startsWith('127.')) {
      response.writeHead(307, { location: `http://localhost:${request.socket.localPort}/elsewhere` }).end();
    } else whole(request, response, file);
  });
  const port = Number(new URL(at.address).port);
  await assert.rejects(at.get(), /leads to http:\/\/localhost:\d+\/elsewhere, which is not allowed/);
  await at.get({ allowHosts: ['localhost'], ports: [port] });
  assert.deepEqual(
    asked,
    ['127.0.0.1', '127.0.0.1', 'localhost'].map((host) => `${host}:${port}`),
  );
});

/** The header with a change, the content as it was. */
const rewritten = (change: (header: Record<string, unknown>) => object) => (file: Buffer) => {
  const header = JSON.parse(file.toString('utf8', 0, 1_024));
  const text = JSON.stringify({ ...header, ...change(header) });
  return Buffer.concat([Buffer.from(`${text.padEnd(1_023)}\n`), file.subarray(1_024)]);
};

const refused: Record<string, { answer?: Answer; change?: (file: Buffer) => Buffer; says: RegExp }> = {
  'without a signature': { change: rewritten(() => ({ signature: undefined })), says: /is not signed with the key/ },
  'whose header was changed after it was signed': {
    change: rewritten(() => ({ digest: `sha256:${'0'.repeat(64)}` })),
    says: /is not signed with the key/,
  },
  'whose content was changed': {
    change: (file) => Buffer.concat([file.subarray(0, 100_000), Buffer.from([1]), file.subarray(100_001)]),
    says: /is damaged/,
  },
  'that ends early, as if it were whole': { change: (file) => file.subarray(0, -1_000), says: /is damaged or cut off/ },
  'that is no image': { change: () => Buffer.from('<html>'.repeat(1_000)), says: /is no archive of an image/ },
  'that is empty': { change: () => Buffer.alloc(0), says: /is no archive of an image/ },
  'that is not there': {
    answer: (_request, response) => response.writeHead(404).end(),
    says: /^there is no http:.*\.image: this version needs it, .* \.\/svc images export svc-base --to-folder/,
  },
  'that may not be read': {
    answer: (_request, response) => response.writeHead(403).end(),
    says: /the server answers 403$/,
  },
  'of a server that stays busy': {
    answer: (_request, response) => response.writeHead(503).end(),
    says: /broke off 3 times in a row \(it answers 503\)$/,
  },
  'whose connection breaks and brings nothing more': {
    answer: (request, response, file) => {
      if (request.headers.range === undefined) send(request, response, file, 200_000);
      else request.socket.destroy();
    },
    says: /broke off 3 times in a row \(.+\) with 0 MB of 1 MB here; nothing was kept$/,
  },
  'that changes between two connections': {
    answer: (request, response, file) =>
      request.headers.range === undefined
        ? send(request, response, file, 200_000)
        : send(request, response, file, file.length, '"two"'),
    says: /was changed while it was fetched; run it again$/,
  },
  'that is larger than any image': {
    answer: (_request, response) => response.writeHead(200, { 'content-length': 5 * 1024 ** 3 }).flushHeaders(),
    says: /has more than 4295 MB, which no image has$/,
  },
  'that leads to a private address': {
    answer: (_request, response) => response.writeHead(302, { location: 'https://10.0.0.1/x.image' }).end(),
    says: /leads to https:\/\/10\.0\.0\.1\/x\.image, which is not allowed/,
  },
  'that leads to http: elsewhere': {
    answer: (_request, response) => response.writeHead(302, { location: 'http://example.com/x.image' }).end(),
    says: /leads to http:\/\/example\.com\/x\.image, which is not allowed/,
  },
  'that leads round and round': {
    answer: (_request, response) => response.writeHead(302, { location: '/x.image' }).end(),
    says: /leads on more than 5 times$/,
  },
};

for (const [what, { answer = whole, change, says }] of Object.entries(refused)) {
  test(`a file ${what} is refused in one sentence, and nothing of it stays`, async (t) => {
    const at = await place(t, answer, change);
    await assert.rejects(at.get(), (error: Error) => {
      assert.match(error.message, says);
      assert.doesNotMatch(error.message, /\n/);
      return true;
    });
    assert.deepEqual(await at.kept(), []);
    assert.equal(at.shelf.get('svc-base'), undefined);
  });
}

test('an image of another template or version than is wanted is refused though it is signed', async (t) => {
  const at = await place(t, whole);
  await assert.rejects(at.get({ template: 'desktop' }), /has an image svc-base, not desktop$/);
  const base = recipes['svc-base'];
  const newer = { ...recipes, 'svc-base': { ...base, packages: [...base.packages, 'cowsay'] } };
  const shelf = createImages({ dir: at.dir, builder, recipes: newer });
  const options = { key: at.key, allowHosts: [], ports: [443] };
  await assert.rejects(fetchImage(shelf, at.address, options), /has an image svc-base of another version/);
  assert.deepEqual(await at.kept(), []);
});

test('an image for which the disk has no room is refused, before or while it comes, and nothing stays', {
  skip: needsRoot,
}, async (t) => {
  let isTold = true;
  const at = await place(t, (request, response, file) => {
    // Without its length nobody knows before.
    if (isTold) send(request, response, file);
    else response.writeHead(200).end(file);
  });
  await mkdir(at.dir);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=900k', 'svc-test', at.dir]);
  try {
    await assert.rejects(at.get(), /^Error: the image needs 1 MB of disk, and .* has 1 MB$/);
    isTold = false;
    await assert.rejects(at.get(), { message: `the disk of ${at.dir} is full` });
    assert.deepEqual(await at.kept(), []);
  } finally {
    // Before the directory goes, which a hook does.
    execFileSync('umount', [at.dir]);
  }
});

test('an address is fetched from by https, and by http on this machine or where the operator allows it', () => {
  const isAllowed = (url: string, hosts: string[] = []): boolean => {
    try {
      checkAddress(new URL(url), hosts);
      return true;
    } catch {
      return false;
    }
  };
  for (const url of [
    'https://images.example.com/',
    'https://10.0.0.1/',
    'http://127.0.0.1:1/',
    'http://localhost/',
    'http://[::1]/',
  ])
    assert.equal(isAllowed(url), true, url);
  for (const url of [
    'http://images.example.com/',
    'http://10.0.0.1/',
    'http://localhost.example.com/',
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
    'https://me:secret@images.example.com/',
  ])
    assert.equal(isAllowed(url), false, url);
  assert.equal(isAllowed('http://10.0.0.1:8080/', ['10.0.0.1']), true);
});

test('a server that says nothing is left', async (t) => {
  const at = await place(t, (_request, response) => response.writeHead(200).flushHeaders());
  const options = { allowHosts: [], ports: [443], mostBytes: 1_000, idleMs: 20, waitsMs: [0] };
  const { chunks } = download(new URL(at.address), options);
  await assert.rejects(chunks.next(), /broke off 2 times in a row \(nothing came for 0\.02 s\)$/);
});

test('by https: a certificate that nobody vouches for, another protocol, and a way on to http: are refused at once', async (t) => {
  const folder = await temporaryDirectory(t);
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const words = ['req', '-x509', ...kind, '-keyout', keyFile, '-out', certFile, ...subject];
  execFileSync('openssl', words, { stdio: 'ignore' });
  const cert = await readFile(certFile);
  const at = await place(t, whole);
  let location: string | undefined;
  const server = createTlsServer({ key: await readFile(keyFile), cert }, (request, response) => {
    if (location === undefined) whole(request, response, at.file);
    else response.writeHead(302, { location }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await assert.rejects(
    at.get({}, address),
    /cannot be fetched: the TLS connection failed \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
  );
  await assert.rejects(at.get({}, at.address.replace('http:', 'https:')), /the TLS connection failed \(EPROTO\)$/);
  const authorities = getCACertificates('default');
  t.after(() => setDefaultCACertificates(authorities));
  setDefaultCACertificates([...authorities, cert.toString()]);
  location = `${at.address}x.image`;
  await assert.rejects(at.get({ allowHosts: ['127.0.0.1'] }, address), /leads to http:$/);
  assert.deepEqual(await at.kept(), []);
  location = undefined;
  assert.match((await at.get({}, address)).digest, /^sha256:/);
});

test('where nobody listens the address is said to be wrong, without tries that cannot help', async (t) => {
  const at = await place(t, whole);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  // The waits of use would take 15 s.
  await assert.rejects(at.get({ waitsMs: [60_000] }, `http://127.0.0.1:${port}/`), {
    message: `127.0.0.1:${port} cannot be reached (ECONNREFUSED)`,
  });
});

test('what a fetch that was killed left is gone after the next', async (t) => {
  const at = await place(t, whole);
  await mkdir(join(at.dir, '.building-svc-base-x1'), { recursive: true });
  await writeFile(join(at.dir, '.building-svc-base-x1/archive'), 'half');
  const { digest } = await at.get();
  assert.deepEqual(await at.kept(), [digest.slice(7)]);
});
