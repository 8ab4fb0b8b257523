import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { NodeClient } from '@svc/sandboxd-api';
import { testedProgram } from '../../../../../packages/programs/src/testing.ts';
import type { SettingName } from '../../config.ts';
import { testSandboxes } from '../../config.ts';
import type { Clock } from '../../kernel/base/clock.ts';
import type { MachineId } from '../../kernel/base/machine-id.ts';
import {
  createAccount,
  type HttpAnswer,
  http,
  startGateway,
  type TestAccount,
  type TestDatabase,
  type TestGateway,
  testDatabase,
  until,
} from '../../testing.ts';

/** The tests look into bodies of every shape. */
export type Json = HttpAnswer['body'];

/** A gateway with a real node, and an account to make sandboxes in. */
export interface SandboxesTest extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly database: TestDatabase;
  readonly account: TestAccount;
  readonly node: NodeClient;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
  /** Creates a sandbox, v2 unless `fields` say otherwise. */
  create(fields?: Json): Promise<Json>;
  /** Runs a command; a text is a shell command. */
  exec(sandbox: { id: string }, command: Json): Promise<Json>;
  /** Runs a cell. */
  cell(sandbox: { id: string }, code: string, fields?: Json): Promise<Json>;
  /** The same test in a fresh account. */
  fresh(terms?: { scopes?: string[] }): Promise<SandboxesTest>;
  /** Destroys what the account has. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a database and a gateway beside the node of the test run. */
export async function openSandboxes(
  options: {
    settings?: Partial<Record<SettingName, string>>;
    clock?: Clock;
    socket?: string;
    machine?: MachineId;
  } = {},
): Promise<SandboxesTest> {
  const { clock, machine } = options;
  const socket = options.socket ?? nodeOfTests();
  const database = await testDatabase();
  const settings = { SVC_SANDBOXD_SOCKET: socket, ...options.settings };
  const gateway = await startGateway(database, { settings, ...(clock && { clock }), ...(machine && { machine }) });
  const node = new NodeClient(socket);
  // Any that a node has accepted: the first of each platform.
  node.turn = 1;
  return sandboxesTest(database, gateway, node, await createAccount(gateway));
}

/** The socket of the node that the test runner started. */
export function nodeOfTests(): string {
  const socket = testSandboxes();
  if (socket === undefined) throw new Error('run the tests with: npm test [-- <file>…]');
  return socket;
}

/** The helpers of a test for one account. */
export function sandboxesTest(
  database: TestDatabase,
  gateway: TestGateway,
  node: NodeClient,
  account: TestAccount,
): SandboxesTest {
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    http(gateway.url, path, { method, key: account.key, headers, ...(body !== undefined && { body }) });
  const ok = async (answer: Promise<HttpAnswer>): Promise<Json> => {
    const { status, body } = await answer;
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const clear = async (): Promise<void> => {
    const { data } = await ok(call('GET', '/v1/sandboxes'));
    await Promise.all(data.map(({ id }: Json) => call('DELETE', `/v1/sandboxes/${id}`)));
  };
  const close = async (): Promise<void> => {
    // Sandboxes that any account left behind.
    const left = await gateway.kernel.sql<
      { id: string }[]
    >`select id from sandboxes.sandboxes where node_id is not null`;
    await gateway.close();
    await Promise.all(left.map(({ id }) => node.destroy(id)));
    node.close();
    await database.drop();
  };
  return {
    gateway,
    database,
    account,
    node,
    call,
    clear,
    create: (fields = {}) => ok(call('POST', '/v1/sandboxes', { backend: 'v2', ...fields })),
    exec: ({ id }, command) =>
      ok(call('POST', `/v1/sandboxes/${id}/exec`, typeof command === 'string' ? { shell: command } : command)),
    cell: ({ id }, code, fields = {}) => ok(call('POST', `/v1/sandboxes/${id}/run_code`, { code, ...fields })),
    fresh: async (terms) => sandboxesTest(database, gateway, node, await createAccount(gateway, terms)),
    [Symbol.asyncDispose]: close,
    close,
  };
}

const program = testedProgram(resolve(import.meta.dirname, '../../../../sandboxd/src/main.ts'));

/** A node agent of a test. */
export interface TestNode {
  socket: string;
  dir: string;
  process: ChildProcess;
  client: NodeClient;
  /** Ends the agent and every sandbox, and removes what it kept. */
  close(): Promise<void>;
}

/** Starts a node agent with a state of its own, and waits until it answers. */
export async function startNode(options: {
  images: string;
  dir?: string;
  args?: readonly string[];
}): Promise<TestNode> {
  // Short: a socket's path has at most 107 bytes.
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'svc-node-'));
  const socket = join(dir, 'sandboxd.sock');
  const args = ['--dir', dir, '--socket', socket, '--images', options.images, ...(options.args ?? [])];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // The test runner waits for what keeps its process alive.
  child.unref();
  const client = new NodeClient(socket);
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`sandboxd ended with ${child.exitCode}`);
    return client.node().then(
      () => true,
      () => false,
    );
  });
  return {
    socket,
    dir,
    process: child,
    client,
    async close() {
      client.close();
      if (child.exitCode === null && child.signalCode === null) {
        child.ref();
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      }
      const cleared = spawn(process.execPath, [program, 'clear', '--dir', dir], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      await once(cleared, 'exit');
    },
  };
}
