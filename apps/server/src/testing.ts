import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeClient } from '@svc/sandboxd-api';
import { type Client, createClient } from '@svc/sdk';
import { type App, buildApp } from './app.ts';
import { loadConfig, type SettingName, testDataDir, testSandboxes } from './config.ts';
import { insertAccount } from './features/accounts/index.ts';
import { issueKey } from './features/keys/index.ts';
import type { Clock } from './kernel/base/clock.ts';
import type { MachineId } from './kernel/base/machine-id.ts';
import { createLog } from './kernel/base/log.ts';
import { type DatabaseTarget, openDatabase, type Sql } from './kernel/db/db.ts';
import { migrate } from './kernel/db/migrate.ts';
import { limitDatabase, prepareApplicationRole } from './kernel/db/role.ts';
import { type Role, wholeRole } from './kernel/feature.ts';
import type { Kernel } from './kernel/kernel.ts';
import { type EmbeddedPostgres, findRunning } from './postgres/embedded.ts';
import { openKernel } from './resources.ts';

/** A database of a test's own, cloned from the migrated template in about 30 ms. */
export interface TestDatabase extends AsyncDisposable {
  target: DatabaseTarget;
  drop(): Promise<void>;
}

/** A gateway in this process, on a port of its own. */
export interface TestGateway extends AsyncDisposable {
  url: string;
  app: App;
  kernel: Kernel;
  /** Drains and closes it as a SIGTERM does. */
  close(): Promise<void>;
}

/** An account with one key that may do everything. */
export interface TestAccount {
  id: string;
  email: string;
  key: string;
  keyId: string;
}

const template = 'svc_template';

function testServer(): EmbeddedPostgres {
  const dataDir = testDataDir();
  const running = dataDir === undefined ? undefined : findRunning(dataDir);
  if (!running) throw new Error('run the tests with: npm test [-- <file>…]');
  return running;
}

/**
 * One for all that this process makes and drops: a connection takes 40 ms of processor time. Nobody closes it: it goes
 * when idle.
 */
let admin: Sql | undefined;
const asAdmin = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
  work((admin ??= openDatabase({ embedded: testServer(), database: 'postgres' }, 1, { idle_timeout: 2 })));

/** Creates the migrated template that test databases are cloned from; the test runner does it once. */
export async function createTemplate(): Promise<void> {
  await asAdmin((sql) => sql.unsafe(`create database ${template}`));
  const sql = openDatabase({ embedded: testServer(), database: template }, 1);
  await migrate(sql);
  await prepareApplicationRole(sql);
  await sql.end({ timeout: 1 });
}

/** Gives a database of the test server, that nobody uses, another name; for the test runner. */
export const renameDatabase = async (from: string, to: string): Promise<void> =>
  void (await asAdmin((sql) => sql.unsafe(`alter database ${from} rename to ${to}`)));

/** Clones the template or a database that nothing is connected to, or makes an empty one. */
export async function testDatabase(kind: 'migrated' | 'empty' | TestDatabase = 'migrated'): Promise<TestDatabase> {
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  const from = kind === 'migrated' ? template : kind === 'empty' ? 'template0' : databaseName(kind);
  // Copied as files, which takes 37 ms of processor time; block by block through the log, Postgres' own choice, 59.
  await asAdmin((sql) => sql.unsafe(`create database ${database} template ${from} strategy file_copy`));
  const target = { embedded: testServer(), database };
  if (kind === 'migrated') {
    await asAdmin((sql) => limitDatabase(sql, database));
    fresh.add(target);
  }
  const end = async (): Promise<void> => {
    if (withNode.delete(database)) await endSandboxes(target);
    await asAdmin((sql) => sql.unsafe(`drop database ${database} with (force)`));
  };
  let dropping: Promise<void> | undefined;
  const drop = (): Promise<void> => (dropping ??= end());
  return { target, drop, [Symbol.asyncDispose]: drop };
}

const databaseName = ({ target }: TestDatabase): string => ('database' in target ? target.database : template);

/** Clones of the template in which nothing ran yet: a gateway looks for no migration there. */
const fresh = new WeakSet<DatabaseTarget>();

/** Databases whose gateways had the node that all tests share. */
const withNode = new Set<string>();

/** Ends what a database's gateways left on the shared node: one that nobody asks takes 4 % of a processor until the last test. */
async function endSandboxes(target: DatabaseTarget): Promise<void> {
  const left = await asOwner(
    { target },
    (sql) => sql<{ id: string }[]>`select id from sandboxes.sandboxes where node_id is not null`,
  );
  const node = new NodeClient(testSandboxes() ?? '');
  node.turn = 1;
  await Promise.allSettled(left.map(({ id }) => node.destroy(id)));
  node.close();
}

/** Works on a database as its owner: gateways use a role that owns no table. */
export async function asOwner<T>({ target }: Pick<TestDatabase, 'target'>, work: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = openDatabase(target, 1);
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** One master key for all gateways of the tests. */
export const masterKey = 'a master key for tests only, 32+ characters';

/** The options of a test's gateway; settings as in the environment. */
export interface GatewayOptions {
  settings?: Partial<Record<SettingName, string>>;
  clock?: Clock;
  log?: NodeJS.WritableStream;
  /** Another machine than the one of the test. */
  machine?: MachineId;
  /** What the process is for; unset: everything. */
  role?: Role;
}

/** Starts a gateway on a database. */
export async function startGateway(
  database: Pick<TestDatabase, 'target'>,
  options: GatewayOptions = {},
): Promise<TestGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const settings = {
    SVC_PORT: '0',
    SVC_DATA_DIR: dataDir,
    SVC_MASTER_KEY: masterKey,
    SVC_LOG_LEVEL: 'error',
    SVC_DATABASE_TIMEOUT_MS: '60000',
  };
  const config = loadConfig({}, { ...settings, ...options.settings });
  const log = createLog(config.logLevel, options.log);
  const { clock, machine } = options;
  if (config.sandboxdSocket !== undefined && config.sandboxdSocket === testSandboxes() && 'database' in database.target)
    withNode.add(database.target.database);
  const opened = await openKernel(config, log, {
    database: database.target,
    isMigrated: fresh.delete(database.target),
    ...(clock && { clock }),
    ...(machine && { machine }),
  });
  const app = buildApp(opened.value, options.role ?? wholeRole);
  await app.start();
  await app.http.listen({ port: config.port, host: config.host });
  const { port } = app.http.server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await app.drain();
    app.http.server.closeAllConnections();
    await app.http.close();
    await opened.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  const closeOnce = (): Promise<void> => (closing ??= close());
  return {
    url: `http://${config.host}:${port}`,
    app,
    kernel: opened.value,
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

/** Everything that a test has open; disposing closes all of it, the last first, even if one part fails to close. */
export interface OpenTest extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly gateway: TestGateway;
  /** The second gateway on the database, where two were asked for. */
  readonly second: TestGateway;
  readonly account: TestAccount;
}

/**
 * Opens a database, unless one is given, with an account and one or two gateways: `await using t = await openTest()`, or
 * see `shared`.
 */
export async function openTest({
  gateways = 1,
  database: given,
  ...options
}: GatewayOptions & { gateways?: 1 | 2; database?: TestDatabase } = {}): Promise<OpenTest> {
  await using opening = new AsyncDisposableStack();
  const database = given ?? opening.use(await testDatabase());
  const start = async () => opening.use(await startGateway(database, options));
  const gateway = await start();
  const second = gateways === 2 ? await start() : gateway;
  const account = await createAccount(gateway);
  const stack = opening.move();
  return { database, gateway, second, account, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Creates an account with a key; `terms` restrict the key. */
export async function createAccount(
  gateway: Pick<TestGateway, 'kernel'>,
  terms: { scopes?: string[] } = {},
): Promise<TestAccount> {
  const { kernel } = gateway;
  const email = `${randomUUID()}@example.test`;
  const account = await insertAccount(kernel.sql, { email, name: 'Test', toolLevel: 'l3_sandbox' });
  if (!account) throw new Error('the account was not created');
  const { id: keyId, text } = await issueKey(kernel, kernel.sql, {
    accountId: account.id,
    name: 'test',
    scopes: terms.scopes ?? ['*'],
  });
  return { id: account.id, email, key: text, keyId };
}

/** An answer as a client sees it. */
export interface HttpAnswer {
  status: number;
  // The tests look into bodies of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
  headers: Headers;
}

/** Sends one request through a real HTTP client. */
export async function http(
  url: string,
  path: string,
  init: {
    method?: string;
    key?: string;
    body?: unknown;
    raw?: string;
    headers?: Record<string, string>;
    signal?: AbortSignal;
  } = {},
): Promise<HttpAnswer> {
  const headers: Record<string, string> = { ...init.headers };
  if (init.key !== undefined) headers['authorization'] = `Bearer ${init.key}`;
  const body = init.raw ?? (init.body === undefined ? undefined : JSON.stringify(init.body));
  if (body !== undefined) headers['content-type'] ??= 'application/json';
  const response = await fetch(url + path, {
    method: init.method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body !== undefined && { body }),
    ...(init.signal && { signal: init.signal }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, body: isJson && text !== '' ? JSON.parse(text) : text, headers: response.headers };
}

/** A client of the SDK for an account, optionally as a device. */
export function clientOf(gateway: Pick<TestGateway, 'url'>, key: string, deviceId?: string): Client {
  return createClient({ baseUrl: gateway.url, apiKey: key, retries: 0, ...(deviceId && { device: { id: deviceId } }) });
}

/** A host in this process: a stream and the frames that came. */
export interface TestHost {
  deviceId: string;
  client: Client;
  /** The next `exec` or `exec_cancel` frame. */
  next(): Promise<{ event: string; data: Record<string, unknown> }>;
  /** Resolves when the gateway ended the stream. */
  ended: Promise<void>;
  leave(): void;
}

/** Opens a host's stream and waits for its `ready`. */
export async function openHost(
  gateway: TestGateway,
  account: TestAccount,
  deviceId: string = randomUUID(),
  query: { os?: string; hostname?: string; roots?: string; detached?: 'true' } = { os: 'linux', hostname: 'test' },
): Promise<TestHost> {
  const client = clientOf(gateway, account.key, deviceId);
  const abort = new AbortController();
  const frames = client.hosts.stream({ query }, { signal: abort.signal });
  const first = await frames.next();
  if (first.done || first.value.event !== 'ready') throw new Error('the stream did not begin with ready');
  const waiting: ((frame: never) => void)[] = [];
  const arrived: unknown[] = [];
  const ended = (async () => {
    try {
      for await (const frame of frames) {
        const waiter = waiting.shift();
        if (waiter) waiter(frame as never);
        else arrived.push(frame);
      }
    } catch {
      // The connection broke or was aborted: the stream ended either way.
    }
  })();
  return {
    deviceId,
    client,
    ended,
    leave: () => abort.abort(),
    async next() {
      if (arrived.length > 0) return arrived.shift() as never;
      const { promise, resolve } = Promise.withResolvers<never>();
      waiting.push(resolve);
      return promise;
    },
  };
}

/** After this long a test hangs, on a busy machine too. */
export const hangMs = 180_000;

/**
 * From one look to the next, after so long a wait: six lanes that look every 10 ms, each time with a request and a query, take
 * what they wait for its processor.
 */
export const pauseMs = (waitedMs: number): number => Math.min(200, Math.max(10, waitedMs / 20));

/** As long, once something hung: what one test left behind cost each of 25 others its three minutes. */
const hungMs = 20_000;
let hasHung = false;

/**
 * Waits until `ready` answers true; fails after `ms`, and sooner where something hung in this process before. For
 * conditions that no event announces.
 */
export async function until(ready: () => boolean | Promise<boolean>, ms = hangMs): Promise<void> {
  const begun = performance.now();
  while (!(await ready())) {
    const waitedMs = performance.now() - begun;
    if (waitedMs > (hasHung ? Math.min(ms, hungMs) : ms)) {
      hasHung ||= ms >= hangMs;
      throw new Error('the condition did not come true in time');
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs(waitedMs)));
  }
}

/**
 * Waits until a query of the feed answers `count` changes, and gives the answer. The first answer may have fewer: the feed ends
 * before the oldest open transaction, and a ticker of the gateway may hold one open for some milliseconds.
 */
export async function changesOf(url: string, key: string, query: string, count: number) {
  let { body } = await http(url, `/v1/events${query}`, { key });
  await until(async () => {
    if (body.events.length < count) ({ body } = await http(url, `/v1/events${query}`, { key }));
    return body.events.length >= count;
  });
  return body;
}

/** Resolves when the emitter emits the event; fails after `ms`. */
export async function eventOf(emitter: NodeJS.EventEmitter, event: string, ms = hangMs): Promise<unknown[]> {
  return once(emitter, event, { signal: AbortSignal.timeout(ms) });
}
