import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import Fastify from 'fastify';
import { testClock } from '../kernel/base/clock.ts';
import { type Blobs, openFileBlobs } from '../kernel/outside/blobs.ts';
import { mountClients } from '../kernel/reference/kept.ts';
import { shared } from '../testing.shared.ts';
import { openTest } from '../testing.ts';
import { clients } from './index.ts';
import { npmPackage } from './tarball.ts';
import { pythonWheel } from './wheel.ts';

const run = promisify(execFile);
const commandOf = (name: string): string =>
  spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
/** The Node.js of the machine, which is older than the pinned one. */
const olderNode = commandOf('node');
const python = commandOf('python3');
const hasVenv = python !== '' && spawnSync(python, ['-c', 'import ensurepip, venv']).status === 0;

const compiler = resolve(import.meta.dirname, '../../../../node_modules/typescript/bin/tsc');
const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'],
  strict: true,
  // The published types must be right by themselves.
  skipLibCheck: false,
  types: [],
};
/** As the sources are checked. */
const asHere = { skipLibCheck: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
/** A program with both modules of the package. */
const story = `import { createClient, follow, openOutbox, type OutboxChange } from '@svc/sdk';
import { fileStorage } from '@svc/sdk/file';
const client = createClient();
let tell = (_name: string): void => {};
const told = new Promise<string>((resolve) => (tell = resolve));
const onChange = (change: OutboxChange): void => {
  if (change.state === 'sent') tell((change.answer as { name: string }).name);
};
const outbox = openOutbox(client, fileStorage('outbox'), { onChange });
await outbox.put('keys.create', { body: { name: 'packed' } });
// @ts-expect-error a read is not kept for later
outbox.put('keys.list', {}).catch(() => {});
let isNew: boolean | undefined;
const never = (_item: never): void => {};
for await (const item of follow(client, { topics: ['prompts', 'schedules', 'notifications'] })) {
  isNew = item.missed;
  if (item.missed) break;
  switch (item.topic) {
    case 'prompts':
      item.record?.prompt.trim();
      break;
    case 'schedules':
      if (item.record && 'paused' in item.record) item.record.paused satisfies boolean;
      break;
    case 'notifications':
      break;
    default:
      never(item);
  }
}
/** Every event of a stream is told by its name. */
export async function read(id: string): Promise<void> {
  for await (const item of client.sessions.follow({ params: { id } })) {
    if (item.event === 'event') item.data.seq.toFixed();
    else if (item.event === 'control') item.data.from_device_id?.trim();
    else if (item.event === 'lease') item.data.lease?.expires_at.trim();
    else never(item);
  }
}
console.log(await told, isNew);
await outbox.close();
`;

/** What of the contract and of its plain interfaces is not the same to who writes a program. */
const agreement = `import type * as zod from '${resolve(import.meta.dirname, '../../../../packages/contract/src/index.ts')}';
import type * as plain from './contract.d.ts';
type Fits<A, B> = [A] extends [B] ? true : false;
type Same<A, B> = [A, B] extends [B, A] ? true : false;
type Fault<Name extends string, R extends zod.Route, P> = P extends plain.Route
  ?
      | (Fits<Omit<zod.RouteInput<R>, 'headers'>, P['input']> extends true ? never : [Name, 'input'])
      | (Same<zod.RouteOutput<R>, P['output']> extends true ? never : [Name, 'output'])
      | (Same<zod.RouteEvent<R>, P['event']> extends true ? never : [Name, 'event'])
      | (Same<zod.RouteFrame<R>, P['frame']> extends true ? never : [Name, 'frame'])
  : [Name, 'missing'];
type PlainOf<F, V> = F extends keyof plain.Contract ? (V extends keyof plain.Contract[F] ? plain.Contract[F][V] : 0) : 0;
type FaultOf<F extends keyof zod.Contract, V extends keyof zod.Contract[F]> = zod.Contract[F][V] extends zod.Route
  ? zod.Contract[F][V]['answers']['kind'] extends 'socket'
    ? never
    : Fault<\`\${F & string}.\${V & string}\`, zod.Contract[F][V], PlainOf<F, V>>
  : never;
type Faults = { [F in keyof zod.Contract]: { [V in keyof zod.Contract[F]]: FaultOf<F, V> }[keyof zod.Contract[F]] };
type HostFaults = {
  [N in zod.HostOp]: Same<
    [zod.HostOpArgs<N>, zod.HostOpResult<N>],
    [plain.HostOpArgs<N>, plain.HostOpResult<N>]
  > extends true
    ? never
    : [N];
};
type Codes = Same<zod.ErrorCode, plain.ErrorCode> extends true ? never : ['codes'];
export const none: never = undefined as unknown as Faults[keyof Faults] | HostFaults[zod.HostOp] | Codes;
`;
/** The most types and instantiations that the SDK may cost who compiles against it. With the types of zod: 608,449. */
const mostTypes = 20_000;
const mostInstantiations = 50_000;

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'svc-clients-'));
  return {
    path,
    at: (name: string) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

type Folder = ReturnType<typeof folder>;

const fakeStorage =
  "import type { OutboxStorage } from '@svc/sdk'; declare const fileStorage: (at: string) => OutboxStorage;";

/** The package without npm. */
async function unpack({ at }: Folder): Promise<void> {
  writeFileSync(at('package.json'), '{"type":"module","private":true}');
  writeFileSync(at('sdk.tgz'), (await clients.npm.built()).bytes);
  mkdirSync(at('node_modules/@svc/sdk'), { recursive: true });
  await run('tar', ['xzf', at('sdk.tgz'), '-C', at('node_modules/@svc/sdk'), '--strip-components', '1']);
}

/** Compiles a program, and answers what its types cost. */
async function compile({ path, at }: Folder, file: string, more: object = {}) {
  const options = { ...compilerOptions, ...more };
  writeFileSync(at('tsconfig.json'), JSON.stringify({ compilerOptions: options, files: [file] }));
  const { stdout } = await run(process.execPath, [
    compiler,
    '-p',
    path,
    '--checkers',
    '1',
    '--extendedDiagnostics',
  ]).catch((error: { stdout?: string }) => assert.fail(String(error.stdout).slice(0, 2_000)));
  const count = (name: string): number => Number(new RegExp(`^${name}: +(\\d+)$`, 'm').exec(stdout)?.[1]);
  return { types: count('Types'), instantiations: count('Instantiations') };
}

describe('the clients that a gateway serves', () => {
  const { gateway, account } = shared(() => openTest());
  const env = () => ({ ...process.env, SVC_BASE_URL: gateway.url, SVC_API_KEY: account.key });

  test('npm installs the SDK: its types check by themselves, its modules run in old and new Node.js', async () => {
    using into = folder();
    writeFileSync(into.at('package.json'), '{"type":"module","private":true}');
    const install = ['install', '--silent', '--prefer-offline', `${gateway.url}${clients.npm.path}`];
    await run('npm', install, { cwd: into.path });
    writeFileSync(into.at('story.ts'), story);
    await compile(into, 'story.ts');
    for (const node of [process.execPath, olderNode]) {
      const { stdout } = await run(node, [into.at('story.js')], { cwd: into.path, env: env() });
      assert.equal(stdout, 'packed true\n');
    }
  });

  test('a program against the packed types costs a tenth of what the types of zod cost, and needs no other package', async () => {
    using into = folder();
    await unpack(into);
    writeFileSync(into.at('with.ts'), story.replace("import { fileStorage } from '@svc/sdk/file';", fakeStorage));
    writeFileSync(into.at('without.ts'), 'export {};');
    const [much, little] = [await compile(into, 'with.ts'), await compile(into, 'without.ts')];
    const [types, instantiations] = [much.types - little.types, much.instantiations - little.instantiations];
    assert.ok(
      types < mostTypes && instantiations < mostInstantiations,
      `${types} types, ${instantiations} instantiations`,
    );
  });

  test('the plain interfaces of the packed types say what the contract says of every operation', async () => {
    using into = folder();
    await unpack(into);
    renameSync(into.at('node_modules/@svc/sdk/types/contract.d.ts'), into.at('contract.d.ts'));
    writeFileSync(into.at('agreement.ts'), agreement);
    await compile(into, 'agreement.ts', { ...asHere, noEmit: true, allowImportingTsExtensions: true });
  });

  test('pip installs the wheel from its address', { skip: !hasVenv && 'no python3 with venv' }, async () => {
    using into = folder();
    await run(python, ['-m', 'venv', into.at('venv')]);
    const own = into.at('venv/bin/python');
    await run(own, ['-m', 'pip', 'install', '--quiet', '--no-index', `${gateway.url}${clients.pip.path}`]);
    const story = 'from svc_sdk import Client; print([key["name"] for key in Client().keys.list_all()])';
    const { stdout } = await run(own, ['-c', story], { cwd: into.path, env: env() });
    assert.match(stdout, /test/);
    await run(own, ['-m', 'pip', 'check']);
  });

  test('an address without a hash leads to one whose bytes never change, and no cache keeps where', async () => {
    for (const [client, path] of [
      [clients.npm, clients.npm.path],
      [clients.pip, clients.pip.path],
      [clients.pip, clients.wheel],
    ] as const) {
      const { sha256 } = await client.built();
      const named = `/install/${client.nameOf(sha256.slice(0, 12))}`;
      const led = await fetch(gateway.url + path, { redirect: 'manual' });
      assert.deepEqual(
        [led.status, led.headers.get('location'), led.headers.get('cache-control')],
        [302, named, 'no-store'],
      );
      const got = await fetch(gateway.url + named);
      assert.match(got.headers.get('cache-control') ?? '', /immutable/);
      assert.equal(
        createHash('sha256')
          .update(Buffer.from(await got.arrayBuffer()))
          .digest('hex'),
        sha256,
      );
      const said = await (await fetch(`${gateway.url}${path}.sha256`)).text();
      assert.equal(said, `${sha256}  ${named.slice('/install/'.length)}\n`);
    }
  });

  test('clients of 19 releases before are served on, byte by byte, for lock files that name them; older ones are not', async () => {
    using t = folder();
    const { blobs, clock, log } = { ...gateway.kernel, blobs: await openFileBlobs(t.path) };
    const [older, old] = ['sdk-0.0.1-aaaaaaaaaaaa.tgz', 'sdk-0.0.9-bbbbbbbbbbbb.tgz'];
    await blobs.put(`clients/npm/2025-01-01T000000.000Z_${older}`, Buffer.from('older'));
    await blobs.put(`clients/npm/2025-01-02T000000.000Z_${old}`, Buffer.from('old'));
    for (let n = 10; n < 28; n += 1)
      await blobs.put(`clients/npm/2025-02-${n}T000000.000Z_sdk-0.1.${n}-cccccccccccc.tgz`, Buffer.from('x'));
    await using http = Fastify();
    mountClients(http, { blobs, clock, log }, [clients.npm]);
    const get = (url: string) => http.inject({ method: 'GET', url });
    assert.equal((await get('/install/sdk.tgz')).statusCode, 302);
    assert.equal((await get(`/install/${old}`)).body, 'old');
    assert.equal((await get(`/install/${older}`)).statusCode, 404);
    assert.equal((await blobs.list('clients/npm/')).length, 20);
    for (const name of ['sdk-0.1.0-dddddddddddd.tgz', 'x.tgz', '..%2Fsdk.tgz'])
      assert.equal((await get(`/install/${name}`)).statusCode, 404, name);
  });

  test('without the store the client of today is served; names are looked up there once a second, known ones once a minute', async () => {
    const clock = testClock();
    const name = 'sdk-0.0.9-bbbbbbbbbbbb.tgz';
    let isAway = true;
    let lists = 0;
    const answer = async <T>(value: T): Promise<T> => {
      if (isAway) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
      return value;
    };
    const blobs = {
      list: async () => ((lists += 1), answer([`clients/npm/2025-01-01T000000.000Z_${name}`])),
      get: async () => answer({ body: Readable.from([Buffer.from('old')]), bytes: 3 }),
      put: async () => answer(0),
    } as unknown as Blobs;
    await using http = Fastify();
    mountClients(http, { blobs, clock, log: gateway.kernel.log }, [clients.npm]);
    const get = (url: string) => http.inject({ method: 'GET', url });
    const { location } = (await get('/install/sdk.tgz')).headers;
    assert.equal((await get(String(location))).statusCode, 200);
    assert.equal((await get(`/install/${name}`)).statusCode, 503);
    isAway = false;
    clock.advance(60_000);
    lists = 0;
    for (let n = 0; n < 3; n += 1) assert.equal((await get(`/install/${name}`)).body, 'old');
    for (let n = 0; n < 3; n += 1) assert.equal((await get('/install/sdk-0.1.0-dddddddddddd.tgz')).statusCode, 404);
    assert.equal(lists, 1);
    clock.advance(1_000);
    assert.equal((await get(`/install/${name}`)).body, 'old');
    assert.equal(lists, 1);
    assert.equal((await get('/install/sdk-0.1.0-dddddddddddd.tgz')).statusCode, 404);
    assert.equal(lists, 2);
  });

  test('the same files are the same bytes, and who has them is told so', async () => {
    const [first, second] = [await npmPackage(), await npmPackage()];
    assert.ok(first.equals(second));
    assert.ok(pythonWheel().equals(pythonWheel()));
    for (const { path } of [clients.npm, clients.pip]) {
      const got = await fetch(gateway.url + path);
      const tag = got.headers.get('etag') ?? '';
      await got.body?.cancel();
      const again = await fetch(gateway.url + path, { headers: { 'if-none-match': tag } });
      assert.deepEqual([again.status, await again.text()], [304, '']);
      const head = await fetch(gateway.url + path, { method: 'HEAD' });
      assert.deepEqual([head.status, head.headers.get('etag')], [200, tag]);
    }
  });

  test('the page at / says the lines that install them', async () => {
    const page = await (await fetch(`${gateway.url}/`)).text();
    for (const { path } of [clients.npm, clients.pip]) assert.ok(page.includes(path), path);
  });
});
