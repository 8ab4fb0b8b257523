import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { http, type HttpAnswer, until } from '../apps/server/src/testing.ts';
import type { Json } from '../apps/server/src/features/sandboxes/sandboxes.testing.ts';
import { testedProgram } from '../packages/programs/src/testing.ts';
import { freePort, type Platform, startPlatform, temporaryFolder } from './platform.ts';

const program = testedProgram(resolve(import.meta.dirname, '../apps/sandboxd/src/main.ts'));
const images = process.env['SVC_TEST_IMAGES'];

/** The platform starts a node, on the images that the tests share, with nothing in store. */
export const ownSandboxes: Record<string, string> = {
  SVC_SANDBOX_WARM: '0',
  ...(images !== undefined && { SVC_SANDBOX_IMAGES: images }),
};

/** Why the tests with sandboxes cannot run here, or false. */
export const withoutSandboxes = images === undefined ? 'no sandboxes on this machine' : false;

/** What commands and code of the standard library do without: nine tenths of the image that the tests share. */
const leftOut = [
  'lib/python3',
  'local',
  'share',
  'lib/git-core',
  'lib/file',
  'lib/x86_64-linux-gnu/perl',
  'lib/x86_64-linux-gnu/gconv',
  'lib/x86_64-linux-gnu/lapack',
];

/**
 * Makes a folder of images with a smaller `svc-base`, for tests that send one elsewhere: the whole one is packed in 12 s of
 * processor time and unpacked in as many.
 */
export function smallImages(folder: string): string {
  if (images === undefined) throw new Error(String(withoutSandboxes));
  const { made, about } = imageOf('svc-base');
  const name = createHash('sha256').update(`small ${about.digest}`).digest('hex');
  const rootfs = join(folder, name, 'rootfs');
  mkdirSync(rootfs, { recursive: true });
  const without = leftOut.map((path) => `--exclude=./usr/${path}/*`).join(' ');
  execFileSync('sh', ['-c', `tar -C "$0" ${without} -c . | tar -C "$1" -x`, join(made, 'rootfs'), rootfs]);
  writeFileSync(join(folder, name, 'image.json'), JSON.stringify({ ...about, digest: `sha256:${name}` }));
  symlinkSync(join(images, 'runtime'), join(folder, 'runtime'));
  return folder;
}

/** The folder of the newest image of a template, and what it is. */
function imageOf(template: string) {
  const found = readdirSync(images ?? '').flatMap((name) => {
    const file = join(images ?? '', name, 'image.json');
    if (!existsSync(file)) return [];
    return [{ made: join(images ?? '', name), about: JSON.parse(readFileSync(file, 'utf8')) }];
  });
  const [newest] = found
    .filter(({ about }) => about.template === template)
    .sort((a, b) => (a.about.built_at < b.about.built_at ? 1 : -1));
  if (!newest) throw new Error(`no image ${template}`);
  return newest;
}

/** The platform as `svc up` starts it, with sandboxes, and the owner's calls to it. */
export interface SandboxPlatform {
  readonly url: string;
  /** The owner's API key. */
  readonly key: string;
  /** State of the node agent. */
  readonly nodeDir: string;
  /** Of the gateway. */
  readonly pid: number;
  /** Of the node agent. */
  nodePid(): number;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
  /** The same, and its answer is 200. */
  ok(method: string, path: string, body?: unknown): Promise<Json>;
  create(fields?: Json): Promise<Json>;
  exec(box: { id: string }, command: Json): Promise<Json>;
  cell(box: { id: string }, code: string): Promise<Json>;
  put(box: { id: string }, path: string, body: Uint8Array | string): Promise<void>;
  /** Destroys every sandbox. */
  clear(): Promise<void>;
  /** kill -9 of the gateway, and the platform once more on the same data. */
  killGateway(): Promise<void>;
  close(): Promise<void>;
}

/** Starts `svc up` on a data directory of its own; waits until its node holds `warm` sandboxes in store. */
export async function startSandboxPlatform(warm = 1, settings: Record<string, string> = {}): Promise<SandboxPlatform> {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const nodeDir = join(dataDir, 'sandboxd');
  const environment = {
    SVC_SANDBOX_IMAGES: images ?? '',
    SVC_SANDBOX_WARM: String(warm),
    SVC_LOG_LEVEL: 'warn',
    ...settings,
  };
  const golden = process.env['SVC_TEST_GOLDEN'];
  if (golden) cpSync(golden, join(nodeDir, 'golden'), { recursive: true });
  let platform: Platform = await startPlatform(dataDir, await freePort(), environment);
  const { key } = platform;
  const self: SandboxPlatform = {
    nodeDir,
    key,
    get url() {
      return platform.url;
    },
    get pid() {
      return platform.process.pid ?? 0;
    },
    nodePid: () => commandsWith(nodeDir).find(({ words }) => words.includes('--socket'))?.pid ?? 0,
    call: (method, path, body, headers = {}) =>
      http(platform.url, path, { method, key, headers, ...(body !== undefined && { body }) }),
    async ok(method, path, body) {
      const answer = await self.call(method, path, body);
      assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    create: (fields = {}) => self.ok('POST', '/v1/sandboxes', { backend: 'v2', ...fields }),
    exec: ({ id }, command) =>
      self.ok('POST', `/v1/sandboxes/${id}/exec`, typeof command === 'string' ? { shell: command } : command),
    cell: ({ id }, code) => self.ok('POST', `/v1/sandboxes/${id}/run_code`, { code }),
    async put({ id }, path, body) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' };
      const answer = await fetch(`${platform.url}/v1/sandboxes/${id}/files/${path}`, { method: 'PUT', headers, body });
      assert.equal(answer.status, 200, await answer.text());
    },
    async clear() {
      const { data } = await self.ok('GET', '/v1/sandboxes');
      await Promise.all(data.map(({ id }: Json) => self.ok('DELETE', `/v1/sandboxes/${id}`)));
    },
    async killGateway() {
      // Its end, not that of its output: the node agent writes there too, and lives on.
      const ended = once(platform.process, 'exit');
      platform.process.kill('SIGKILL');
      await ended;
      platform = await startPlatform(dataDir, platform.port, environment);
    },
    async close() {
      await self.clear().catch(() => {});
      await platform.end();
      execFileSync(process.execPath, [program, 'clear', '--dir', nodeDir], { stdio: 'ignore' });
      await folder.remove();
    },
  };
  // The first golden snapshot takes a while; a create before it would be a cold one.
  const isWarm = (): boolean =>
    namesIn(join(nodeDir, 'live')).length >= warm && (warm === 0 || namesIn(join(nodeDir, 'golden')).length > 0);
  const answers = async (): Promise<boolean> => (await self.call('GET', '/v1/sandboxes')).status === 200;
  await until(async () => isWarm() && (await answers()), 120_000);
  return self;
}

interface Command {
  pid: number;
  words: string[];
}

/** Processes of this machine, without those that only wait to be reaped, in whose command line a text stands. */
function commandsWith(text: string): Command[] {
  return namesIn('/proc').flatMap((name) => {
    const words = read(`/proc/${name}/cmdline`).split('\0');
    return words.some((word) => word.includes(text)) ? [{ pid: Number(name), words }] : [];
  });
}

/** The process that holds the shim of a sandbox's instance: the one whose socket it is. */
export function shimOf(nodeDir: string, id: string): number {
  const instance = instanceOf(nodeDir, id);
  const socket = read('/proc/net/unix')
    .split('\n')
    .find((line) => line.endsWith(join(nodeDir, 'live', instance, 'shim.sock')));
  const inode = socket?.trim().split(/ +/)[6];
  const holder = commandsWith(nodeDir).find(({ pid }) =>
    namesIn(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`),
  );
  assert.ok(holder, `nobody holds the socket of ${instance}`);
  return holder.pid;
}

/** The instance that a sandbox is: names its control group and its directories. */
export const instanceOf = (nodeDir: string, id: string): string =>
  JSON.parse(read(join(nodeDir, 'sandboxes', `${id}.json`))).instance;

/** How many processes an instance is. */
export const processesOf = (instance: string): number =>
  namesIn('/proc').filter((name) => read(`/proc/${name}/cgroup`).includes(instance)).length;

/** How much a node holds on this machine that belongs to none of the instances that run. */
export function straysOf(nodeDir: string): Record<string, number> {
  const group = groupOfNode(nodeDir);
  const live = new Set(namesIn(join(nodeDir, 'live')));
  const isStray = (path: string): boolean => ![...live].some((id) => path.includes(id));
  const isNamed = (path: string): boolean => /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-/.test(path) && isStray(path);
  const held = namesIn('/proc').filter((name) => {
    const [, instance = ''] = new RegExp(`/${group}/([^/\\n]+)`).exec(read(`/proc/${name}/cgroup`)) ?? [];
    const [, named = ''] = new RegExp(`${nodeDir}/live/([^/\\0]+)`).exec(read(`/proc/${name}/cmdline`)) ?? [];
    const owner = instance || named;
    return owner !== '' && !live.has(owner) && linkOf(`/proc/${name}/exe`) !== '';
  });
  const files = filesBelow(nodeDir).filter(isNamed);
  return {
    processes: held.length,
    'network namespaces': new Set(held.map((name) => linkOf(`/proc/${name}/ns/net`))).size,
    mounts: read('/proc/self/mountinfo')
      .split('\n')
      .filter((line) => line.includes(nodeDir) && !line.includes(join(nodeDir, 'workspaces'))).length,
    'control groups': ['', ...namesIn('/sys/fs/cgroup')].flatMap((hierarchy) =>
      filesBelow(join('/sys/fs/cgroup', hierarchy, group), 1).filter(
        (path) => isStray(path) && lstatSync(path, { throwIfNoEntry: false })?.isDirectory(),
      ),
    ).length,
    sockets: files.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSocket()).length,
    records: namesIn(join(nodeDir, 'sandboxes')).filter((name) => isStray(read(join(nodeDir, 'sandboxes', name))))
      .length,
    snapshots: namesIn(join(nodeDir, 'snapshots')).length,
    'state of runsc': namesIn(join(nodeDir, 'runsc')).filter(isStray).length,
    workspaces: filesBelow(join(nodeDir, 'workspaces'), 3).filter(isNamed).length,
  };
}

/** The control group above those of a node's instances, in every hierarchy. */
const groupOfNode = (nodeDir: string): string =>
  `svc-${createHash('sha256').update(nodeDir).digest('hex').slice(0, 12)}`;

function filesBelow(dir: string, depth = 4): string[] {
  const entries = (() => {
    try {
      return readdirSync(dir, { withFileTypes: true });
    } catch {
      return [];
    }
  })();
  return entries.flatMap((entry) => {
    const path = join(dir, entry.name);
    return entry.isDirectory() && depth > 1 ? [path, ...filesBelow(path, depth - 1)] : [path];
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
