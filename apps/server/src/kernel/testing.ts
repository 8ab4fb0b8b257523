import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestDatabase, testDatabase, until } from '../testing.ts';
import { type Clock, systemClock } from './base/clock.ts';
import { openDatabase, type Sql } from './db/db.ts';
import { createLog } from './base/log.ts';
import { type Bus, openPostgresBus } from './peers/bus.ts';

/** Runs `work`, which needs one window of rates for itself: once more when a minute ended under it. */
export async function withinOneMinute(work: () => Promise<void>): Promise<void> {
  const minuteNow = (): number => Math.floor(Date.now() / 60_000);
  for (;;) {
    const minute = minuteNow();
    try {
      return await work();
    } catch (error) {
      if (minuteNow() === minute) throw error;
    }
  }
}

/** A relay in front of a server, so that a test can take the server away from one process only. */
export interface Proxy extends AsyncDisposable {
  port: number;
  /** Cuts every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Cuts as soon as the server has sent this many packets. */
  cutAfter(packets: number): void;
  /** Freezes every connection, new ones too: bytes neither come nor go, and neither side gets an error. */
  freeze(): void;
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Relays to `target`; listens on a free TCP port, or on the Unix socket `path`. */
export async function openProxy(target: NetConnectOpts, path?: string): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  let frozen = false;
  let packetsLeft = Infinity;
  const listen = async (): Promise<void> => {
    server = createServer((near) => {
      const far = connect(target);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.on('error', () => {});
        one.on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
        if (frozen) one.pause();
        else one.pipe(other);
      }
      far.on('data', () => {
        packetsLeft -= 1;
        if (packetsLeft <= 0) setImmediate(() => void cut());
      });
    });
    if (path === undefined) server.listen(port, '127.0.0.1');
    else server.listen(path);
    await once(server, 'listening');
    if (path === undefined) port = (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    server = undefined;
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen();
  return {
    get port() {
      return port;
    },
    cut,
    cutAfter(packets) {
      packetsLeft = packets;
    },
    freeze() {
      frozen = true;
      for (const socket of sockets) socket.pause().unpipe();
    },
    async restore() {
      packetsLeft = Infinity;
      frozen = false;
      if (!server) await listen();
    },
    close: cut,
    [Symbol.asyncDispose]: cut,
  };
}

/** A test database reached through a proxy of its own; disposing closes the proxy. */
interface ProxiedDatabase extends AsyncDisposable {
  database: Pick<TestDatabase, 'target'>;
  proxy: Proxy;
}

/** Puts a proxy before a test database. */
export async function proxyDatabase(database: TestDatabase): Promise<ProxiedDatabase> {
  const { target } = database;
  if (!('embedded' in target)) throw new Error('test databases are embedded');
  const { embedded } = target;
  const socketDir = mkdtempSync(join(tmpdir(), 'svc-proxy-'));
  const name = `.s.PGSQL.${embedded.port}`;
  const proxy = await openProxy({ path: join(embedded.socketDir, name) }, join(socketDir, name));
  const close = async (): Promise<void> => {
    await proxy.close();
    rmSync(socketDir, { recursive: true, force: true });
  };
  return {
    database: { target: { embedded: { ...embedded, socketDir }, database: target.database } },
    proxy: { ...proxy, close },
    [Symbol.asyncDispose]: close,
  };
}

/** A test database and a pool on it. */
interface TestPool extends AsyncDisposable {
  database: TestDatabase;
  sql: Sql;
}

/** Opens a test database with a pool of at most `max` connections, for tests without a gateway; see `shared`. */
export async function openTestPool(max: number): Promise<TestPool> {
  const database = await testDatabase();
  const sql = openDatabase(database.target, max);
  return {
    database,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
      await database.drop();
    },
  };
}

/** The bus over LISTEN/NOTIFY, which a test closes by `using`. */
export async function openTestBus(
  { target }: Pick<TestDatabase, 'target'>,
  clock: Clock = systemClock,
): Promise<Bus & AsyncDisposable> {
  const bus = await openPostgresBus(target, clock, createLog('silent'));
  return { ...bus, [Symbol.asyncDispose]: () => bus.close() };
}

const natsServer = '/usr/sbin/nats-server';
/** Why tests over NATS cannot run here; false when they can. */
export const withoutNats: string | false = existsSync(natsServer) ? false : `${natsServer} is not installed`;

/** A NATS server of a test's own. */
export interface TestNats extends AsyncDisposable {
  url: string;
  port: number;
  /** Kills it and starts another one at the same port. */
  restart(): Promise<void>;
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a NATS server on a free port. */
export async function startNats(): Promise<TestNats> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = spawn(natsServer, ['-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
    await until(() => accepts(port));
  };
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    start,
    kill,
    async restart() {
      await kill();
      await start();
    },
    close: kill,
    [Symbol.asyncDispose]: kill,
  };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
