import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { CodeResult, ExecEvent, NewSandbox, Template } from '@svc/sandboxd-api';
import { testedProgram } from '../../../packages/programs/src/testing.ts';
import { createImages } from './images/images.ts';
import { needsRoot } from './parts.testing.ts';

/** Declares a test for one of the kinds of sandboxes that a suite is made for, and none for the others. */
export const testWhere = (isHere: boolean): ((name: string, body: (t: TestContext) => Promise<void>) => unknown) =>
  isHere ? test : () => {};

/** Where the images are; tests build none. */
const images = process.env['SVC_TEST_IMAGES'] ?? '/var/cache/svc/images';
const builder = { build: () => Promise.reject(new Error('tests build no image')) };

/** The root file system of an image of this version; undefined where there is none. */
export const rootfsOf = (template: Template): string | undefined =>
  createImages({ dir: images, builder }).get(template)?.rootfs;

/** Why sandboxes of a template cannot be tested here; false where they can. */
export function whyNot(template: Template): string | false {
  if (needsRoot) return needsRoot;
  return rootfsOf(template) !== undefined
    ? false
    : `no image ${template} of this version in ${images}: ./svc images build ${template}`;
}

/** Why sandboxes cannot be tested here; false where they can. */
export const skip = whyNot('svc-base');

/** The command line of sandboxd. */
export const mainPath = testedProgram(join(import.meta.dirname, 'main.ts'));

interface HttpAnswer<T> {
  status: number;
  body: T;
}

/** The output of an exec, put together. */
export interface Executed {
  status: number;
  events: ExecEvent[];
  stdout: string;
  stderr: string;
  last: ExecEvent | undefined;
}

/** A sandboxd that runs as a process of its own. */
export interface Daemon {
  dir: string;
  /** Directory of the workspaces: the files of one are in `<name>/files`. */
  workspaces: string;
  call<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<HttpAnswer<T>>;
  create(id: string, changes?: Partial<NewSandbox>): Promise<HttpAnswer<Record<string, unknown>>>;
  exec(id: string, body: Record<string, unknown>): Promise<Executed>;
  code(id: string, code: string, timeoutMs?: number): Promise<CodeResult>;
  port(id: string, port: number): Promise<Duplex>;
  pid: number;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Starts another on the same directory. */
  again(): Promise<void>;
  /** Ends it as the system would; its sandboxes stay. */
  terminate(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts sandboxd on a directory of its own; `stop` ends it with every sandbox. */
export async function startDaemon(words: readonly string[] = []): Promise<Daemon> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-sb-'));
  // The golden snapshot, which every node makes of the image first, and takes 10 s for.
  const made = process.env['SVC_TEST_GOLDEN'];
  if (made) await cp(made, join(dir, 'golden'), { recursive: true });
  const socket = join(dir, 'sandboxd.sock');
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    const options = ['--dir', dir, '--images', images, '--slots', '10', '--warm', '1', ...words];
    child = spawn(process.execPath, [mainPath, 'run', ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on('data', (chunk: Buffer) => {
        log = (log + chunk.toString()).slice(-20_000);
        if (log.includes('"msg":"ready"')) resolve();
      });
      child.once('exit', () => reject(new Error(`sandboxd ended: ${log}`)));
    });
  };
  await start();
  const daemon: Daemon = {
    dir,
    workspaces: join(dir, 'workspaces/mnt/volumes'),
    async call<T>(method: string, path: string, body?: unknown): Promise<HttpAnswer<T>> {
      const asked = request({ socketPath: socket, method, path });
      asked.end(body === undefined ? undefined : JSON.stringify(body));
      const [response] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
      const answer = await text(response);
      const isJson = response.headers['content-type'] === 'application/json';
      return { status: response.statusCode ?? 0, body: (isJson ? JSON.parse(answer) : answer) as T };
    },
    create: (id, changes = {}) =>
      daemon.call('PUT', `/v1/sandboxes/${id}`, {
        backend: 'v2',
        template: 'svc-base',
        egress: { mode: 'none' },
        expires_at: Date.now() + 600_000,
        ...changes,
      }),
    async exec(id, body) {
      const answer = await daemon.call<unknown>('POST', `/v1/sandboxes/${id}/exec`, { timeout_ms: 240_000, ...body });
      if (typeof answer.body !== 'string') {
        return { status: answer.status, events: [], stdout: '', stderr: JSON.stringify(answer.body), last: undefined };
      }
      const events = answer.body
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as ExecEvent);
      const joined = (type: string) =>
        events.map((event) => (event.type === type && 'data' in event ? event.data : '')).join('');
      return { status: answer.status, events, stdout: joined('stdout'), stderr: joined('stderr'), last: events.at(-1) };
    },
    code: async (id, code, timeoutMs = 120_000) =>
      (await daemon.call<CodeResult>('POST', `/v1/sandboxes/${id}/run_code`, { code, timeout_ms: timeoutMs })).body,
    async port(id, port) {
      const asked = request({
        socketPath: socket,
        path: `/v1/sandboxes/${id}/ports/${port}`,
        headers: { connection: 'Upgrade', upgrade: 'tcp' },
      });
      asked.end();
      return await new Promise<Duplex>((resolve, reject) => {
        asked.once('upgrade', (_response, stream: Duplex, head: Buffer) => {
          if (head.length > 0) stream.unshift(head);
          resolve(stream);
        });
        asked.once('response', (response) => reject(new Error(`status ${response.statusCode}`)));
        asked.once('error', reject);
      });
    },
    get pid() {
      return child.pid ?? 0;
    },
    async kill() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    again: start,
    async terminate() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) await daemon.terminate();
      await promisify(execFile)(process.execPath, [mainPath, 'clear', '--dir', dir]);
    },
  };
  return daemon;
}

/** Processes of the host whose command line names `what`. */
export async function processesOf(what: string): Promise<number[]> {
  const { readdir, readFile } = await import('node:fs/promises');
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, index) => lines[index]?.includes(what)).map(Number);
}

/** Waits for a fact of the system that announces itself in no way. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const begun = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - begun;
    if (waitedMs > 180_000) throw new Error(`did not come: ${what}`);
    // Looks take what is waited for its processor.
    await new Promise((resolve) => setTimeout(resolve, Math.min(200, Math.max(10, waitedMs / 20))));
  }
}
