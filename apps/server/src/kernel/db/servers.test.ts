import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { ensurePostgres, stopPostgres } from '../../postgres/embedded.ts';
import { type TestDatabase, testDatabase, until } from '../../testing.ts';
import { trustCertificate } from '../../testing.tls.ts';
import { toApiError } from '../base/errors.ts';
import { openProxy, type Proxy } from '../testing.ts';
import { openDatabase, type Sql } from './db.ts';
import { placesOf, urlOf } from '../../config.servers.ts';
import { Servers } from './servers.ts';
import { splitTls } from './tls.ts';

describe('servers of the database', () => {
  test('every server of a URL is read, with names, addresses and ports, and can be asked alone', () => {
    const url = 'postgres://me:p%40ss@one,two:6000,[::1]:7000/db?sslmode=require';
    const places = [
      { host: 'one', port: 5432 },
      { host: 'two', port: 6000 },
      { host: '::1', port: 7000 },
    ];
    assert.deepEqual(placesOf(url), places);
    assert.deepEqual(
      places.map((place) => urlOf(url, place)),
      ['one:5432', 'two:6000', '[::1]:7000'].map((server) => `postgres://me:p%40ss@${server}/db?sslmode=require`),
    );
    assert.deepEqual(placesOf('postgres://me@%2Fvar%2Frun:6000/db'), [{ host: '/var/run', port: 6000 }]);
    assert.deepEqual(placesOf('postgres:///db'), []);
  });

  test('TLS is read from a URL as libpq reads it, and taken out of it', () => {
    const of = (query: string) => splitTls(`postgres://one/db?${query}`);
    assert.deepEqual(of('sslmode=disable&a=1'), { url: 'postgres://one/db?a=1', tls: undefined });
    assert.deepEqual(of('sslmode=prefer').tls, { optional: true, direct: false, check: { rejectUnauthorized: false } });
    assert.deepEqual(of('ssl=require').tls, { optional: false, direct: false, check: { rejectUnauthorized: false } });
    assert.deepEqual(of('sslmode=verify-full&sslnegotiation=direct').tls, { optional: false, direct: true, check: {} });
    assert.deepEqual(of('sslrootcert=system').tls, { optional: false, direct: false, check: {} });
    assert.throws(() => of('sslrootcert=/no/such/file'), /no such file/);
  });

  test('the server that takes writes is found, asked first the next time, and asked once by many', async () => {
    const asked: string[] = [];
    let primary = 'b';
    const servers = new Servers(
      ['a', 'b', 'c'].map((host) => ({ host, port: 1 })),
      async ({ host }) => {
        asked.push(host);
        if (host === 'a') throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
        return host === primary;
      },
    );
    const found = await Promise.all([servers.find(), servers.find()]);
    assert.deepEqual(
      [found.map(({ host }) => host), asked.splice(0)],
      [
        ['b', 'b'],
        ['a', 'b'],
      ],
    );
    assert.equal((await servers.find()).host, 'b');
    assert.deepEqual(asked.splice(0), ['b']);
    primary = 'none';
    await assert.rejects(servers.find(), /takes writes: b:1 is read-only, c:1 is read-only, a:1 ECONNREFUSED/);
  });

  test('a pool whose URL names two servers keeps to the one that takes writes, and follows when it changes', async () => {
    await using pair = await openPair();
    const { one, other, url } = pair;
    const sql = openDatabase({ url }, 3, { deadline: { statementMs: 60_000 } });
    try {
      await setReadOnly(one.admin, true);
      const where = async () => (await sql<{ name: string }[]>`select current_setting('svc.name') as name`)[0]?.name;
      assert.equal(await where(), 'other');
      const write = () =>
        sql`create table if not exists written (n int)`.then(
          () => 'written',
          (error: unknown) => toApiError(error).code,
        );
      assert.equal(await write(), 'written');
      await other.proxy.cut();
      await until(async () => (await write()) === 'unavailable');
      // Nobody takes writes: each query fails, none waits, and no connection of the pool is lost by it.
      assert.deepEqual(new Set(await Promise.all(Array.from({ length: 10 }, write))), new Set(['unavailable']));
      await setReadOnly(one.admin, false);
      await until(async () => (await write()) === 'written');
      assert.equal(await where(), 'one');
    } finally {
      await sql.end({ timeout: 1 });
    }
  });

  test('over TLS an idle connection stays, and a server that falls silent is not waited for', async () => {
    await using database = await testDatabase();
    await using front = await openTlsFront(database);
    const sql = openDatabase({ url: front.url }, 1, { deadline: { statementMs: 1_000 } });
    try {
      const pid = async () => (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid;
      let before: number | undefined;
      // A busy machine may not open one in a second.
      await until(async () => (before = await pid().catch(() => undefined)) !== undefined);
      // Longer than the 3 s after which a server that was asked is taken for dead.
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      assert.equal(await pid(), before);
      front.proxy.freeze();
      await assert.rejects(pid(), (error) => toApiError(error).code === 'unavailable');
      await front.proxy.restore();
      await until(() => pid().then(Boolean, () => false));
    } finally {
      await sql.end({ timeout: 1 });
    }
  });

  test('TLS that is asked for is not given up: no server without it, no certificate that nobody vouches for', async () => {
    await using database = await testDatabase();
    await using plain = await openProxy(socketOf(database));
    const ask = async (url: string): Promise<string> => {
      const sql = openDatabase({ url }, 1);
      try {
        await sql`select 1`;
        return 'answered';
      } catch (error) {
        return (error as Error).message;
      } finally {
        await sql.end({ timeout: 1 });
      }
    };
    const named = `postgres://svc@127.0.0.1:${plain.port}/${nameOf(database)}`;
    assert.match(await ask(`${named}?sslmode=require`), /offers no TLS/);
    assert.equal(await ask(`${named}?sslmode=prefer`), 'answered');
    await using front = await openTlsFront(database);
    assert.equal(await ask(front.url), 'answered');
    front.distrust();
    assert.match(await ask(front.url), /self-signed certificate/);
    assert.equal(await ask(front.url.replace('verify-full', 'require')), 'answered');
  });
});

const nameOf = ({ target }: TestDatabase): string => ('embedded' in target ? target.database : '');

function socketOf({ target }: TestDatabase) {
  if (!('embedded' in target)) throw new Error('test databases are embedded');
  return { path: join(target.embedded.socketDir, `.s.PGSQL.${target.embedded.port}`) };
}

async function setReadOnly(admin: Sql, on: boolean): Promise<void> {
  await admin.unsafe(`alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`);
  await admin`select pg_reload_conf()`;
  await until(async () => {
    const [row] = await admin<
      { set: string }[]
    >`select reset_val as set from pg_settings where name = 'default_transaction_read_only'`;
    return row?.set === (on ? 'on' : 'off');
  });
}

/** Two servers behind proxies, and the URL that names both. */
async function openPair() {
  await using opening = new AsyncDisposableStack();
  const open = async (name: string): Promise<{ admin: Sql; proxy: Proxy }> => {
    const dataDir = mkdtempSync(join(tmpdir(), 'svc-pair-'));
    opening.defer(() => rmSync(dataDir, { recursive: true, force: true }));
    const embedded = await ensurePostgres(dataDir);
    opening.defer(() => stopPostgres(embedded));
    const admin = openDatabase({ embedded, database: 'postgres' }, 1);
    opening.defer(() => admin.end({ timeout: 1 }));
    await admin`set default_transaction_read_only = off`;
    await admin.unsafe(`alter role svc set svc.name = '${name}'`);
    const proxy = opening.use(await openProxy({ path: join(embedded.socketDir, `.s.PGSQL.${embedded.port}`) }));
    return { admin, proxy };
  };
  const [one, other] = [await open('one'), await open('other')];
  const url = `postgres://svc@127.0.0.1:${one.proxy.port},127.0.0.1:${other.proxy.port}/postgres`;
  const stack = opening.move();
  return { one, other, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** A database behind a proxy that speaks TLS as a server of Postgres does. */
async function openTlsFront(database: TestDatabase) {
  await using opening = new AsyncDisposableStack();
  const certificate = opening.use(trustCertificate());
  const inner = opening.use(await openProxy(socketOf(database)));
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    sockets.add(near);
    near.on('error', () => {});
    near.once('data', () => {
      near.write('S');
      const secured = new TLSSocket(near, { isServer: true, key: certificate.key, cert: certificate.cert });
      const far = connect({ port: inner.port, host: '127.0.0.1' });
      for (const socket of [far, secured]) socket.on('error', () => {});
      secured.on('close', () => far.destroy());
      far.on('close', () => near.destroy());
      secured.pipe(far).pipe(secured);
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  opening.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const stack = opening.move();
  return {
    url: `postgres://svc@127.0.0.1:${port}/${nameOf(database)}?sslmode=verify-full`,
    proxy: inner,
    distrust: () => certificate[Symbol.dispose](),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
