import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { startCommand, temporaryDirectory } from '../apps/host/src/testing.ts';
import { until } from '../apps/server/src/testing.ts';
import { echoServer, freePort, sharedMachine } from './environments.testing.ts';

const { usable } = sharedMachine();

/** Forwards a port; answers where. */
async function forwarded(s: Awaited<ReturnType<typeof usable>>, port: number, ...words: string[]) {
  const command = s.env('forward', s.slug, String(port), ...words);
  await command.says(/127\.0\.0\.1:\d+ leads to/);
  return { command, port: Number(/127\.0\.0\.1:(\d+)/.exec(command.stdout())?.[1]) };
}

const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Sends bytes and reads as many back; answers their hash. */
async function echoed(port: number, bytes: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const hash = createHash('sha256');
  let left = bytes.length;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('error', reject).once('close', () => reject(new Error('closed too early')));
  socket.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    left -= chunk.length;
    if (left <= 0) resolve();
  });
  socket.write(bytes);
  await promise;
  socket.destroy();
  return hash.digest('hex');
}

test('list shows every environment with its machine and the role in it', async (context) => {
  const s = await usable(context);
  const listed = s.env('list');
  assert.equal(await listed.ended, 0, listed.stderr());
  assert.match(listed.stdout(), new RegExp(`${s.slug} +.+ +running +usable +owner +byo +${s.id}`));
  const { environments } = JSON.parse(await outputOf(s.env('list', '--json')));
  assert.deepEqual(
    environments.map(({ id, role, online, usable }: Record<string, unknown>) => [id, role, online, usable]),
    [[s.id, 'owner', true, true]],
  );
});

/** Connects, and waits for the other side to end it. */
const closed = (port: number): Promise<void> =>
  new Promise(
    (resolve) =>
      void connect(port, '127.0.0.1')
        .on('error', () => {})
        .once('close', () => resolve()),
  );

async function outputOf(command: ReturnType<Awaited<ReturnType<typeof usable>>['env']>): Promise<string> {
  assert.equal(await command.ended, 0, command.stderr());
  return command.stdout();
}

test('forward carries bytes equal both ways, and 200 connections at once although the relay admits 64', async (context) => {
  const s = await usable(context);
  const { port, command } = await forwarded(s, await echoServer(context));
  const bytes = randomBytes(8 * 1024 * 1024);
  assert.equal(await echoed(port, bytes), hashOf(bytes));
  const small = randomBytes(10_000);
  const all = await Promise.all(Array.from({ length: 200 }, () => echoed(port, small)));
  assert.ok(all.every((one) => one === hashOf(small)));
  assert.equal(command.stderr(), '');
});

test('a local client that reads nothing holds back the machine, and no other connection', async (context) => {
  const s = await usable(context);
  const piece = randomBytes(1024 * 1024);
  // More than what may leave before the client reads.
  const pieces = 96;
  const hash = createHash('sha256');
  for (let at = 0; at < pieces; at += 1) hash.update(piece);
  let written = 0;
  const source = createServer((socket: Socket) => {
    const write = (): void => {
      while (written < pieces) {
        written += 1;
        if (!socket.write(piece)) return void socket.once('drain', write);
      }
      socket.end();
    };
    socket.on('error', () => {});
    write();
  }).listen(0, '127.0.0.1');
  context.after(() => source.close());
  await once(source, 'listening');
  const { port } = await forwarded(s, (source.address() as AddressInfo).port);
  const slow = connect(port, '127.0.0.1');
  slow.pause();
  await once(slow, 'connect');
  const other = await forwarded(s, await echoServer(context));
  const bytes = randomBytes(2 * 1024 * 1024);
  assert.equal(await echoed(other.port, bytes), hashOf(bytes));
  assert.ok(written < 64, `${written} MiB left the machine`);
  assert.equal(hashOf(await buffer(slow)), hash.digest('hex'));
});

test('a connection that is opened while the daemon is away waits for it', async (context) => {
  const s = await usable(context);
  const { port, command } = await forwarded(s, await echoServer(context));
  s.daemon().process.kill('SIGKILL');
  await until(async () => !(await s.status()).online);
  const bytes = randomBytes(10_000);
  const waiting = echoed(port, bytes);
  await command.says(/daemon_offline/);
  s.start();
  assert.equal(await waiting, hashOf(bytes));
});

test('a connection that breaks on the way is reset, and a new one waits for the relay', async (context) => {
  const s = await usable(context);
  const { port, command } = await forwarded(s, await echoServer(context));
  const open = connect(port, '127.0.0.1');
  const broken = new Promise((resolve) => void open.once('error', resolve));
  open.write('a line');
  await once(open, 'data');
  s.line.lead();
  assert.equal(((await broken) as NodeJS.ErrnoException).code, 'ECONNRESET');
  const bytes = randomBytes(10_000);
  const waiting = echoed(port, bytes);
  await command.says(/the relay cannot be reached; trying again/);
  s.line.lead(s.gateway.url);
  assert.equal(await waiting, hashOf(bytes));
});

test('forward ends with a sentence when the caller may not reach the port, or there is no such environment', async (context) => {
  const s = await usable(context, {});
  const { port, command } = await forwarded(s, await echoServer(context));
  await closed(port);
  assert.equal(await command.ended, 1);
  assert.match(command.stderr(), /^svc: .+: 403 forbidden: port \d+ is not published, and the policy .+\n$/);
  const other = s.env('forward', 'no-such-place', '80');
  assert.equal(await other.ended, 1);
  assert.match(other.stderr(), /^svc: no environment of yours is called "no-such-place": see svc env list\n$/);
});

test('a port on which nothing listens ends the connection, and forwarding goes on', async (context) => {
  const s = await usable(context);
  // Machine and client are one here: without it the local port would be the machine's.
  const { port, command } = await forwarded(s, 1, '--local-port', String(await freePort()));
  await closed(port);
  await command.says(/nothing listens on port 1 of this machine/);
  await closed(port);
  assert.equal(command.process.exitCode, null);
  command.process.kill('SIGINT');
  assert.equal(await command.ended, 0);
});

test('a client that has asked and ended its half still gets the whole answer', async (context) => {
  const s = await usable(context);
  const answer = randomBytes(3_000_000);
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.end(answer));
  }).listen(0, '127.0.0.1');
  context.after(() => server.close());
  await once(server, 'listening');
  const { port } = await forwarded(s, (server.address() as AddressInfo).port);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end('what?');
  assert.equal(hashOf(await buffer(socket)), hashOf(answer));
});

test('with --stdio standard output holds the bytes of the machine and nothing else, until either side ends', async (context) => {
  const s = await usable(context);
  const greeting = createServer((socket) => void socket.on('error', () => {}).end('hello')).listen(0, '127.0.0.1');
  context.after(() => greeting.close());
  await once(greeting, 'listening');
  const { port } = greeting.address() as AddressInfo;
  assert.equal(await outputOf(s.env('forward', '--stdio', s.slug, String(port))), 'hello');
  const echo = s.env('forward', '--stdio', s.id, String(await echoServer(context)));
  echo.process.stdin?.end('a line\n');
  assert.equal(await outputOf(echo), 'a line\n');
  assert.equal(echo.stderr(), '');
});

test('lock keeps others out while a command runs, says who holds it, and exits as the command does', async (context) => {
  const stateDir = await temporaryDirectory(context);
  const lock = (...words: string[]) => startCommand(context, ['lock', '--state-dir', stateDir, ...words], {}, 'env');
  const first = lock('deploy', '--', 'sh', '-c', 'echo first; read line; exit 7');
  await first.says('first');
  const impatient = lock('--no-wait', 'deploy', '--', 'true');
  assert.equal(await impatient.ended, 75);
  assert.match(impatient.stderr(), /^svc: .+ \(pid \d+\) holds the lock "deploy"\n$/);
  const second = lock('deploy', '--', 'echo', 'second');
  await second.says(/waiting for the lock "deploy", which .+ \(pid \d+\) holds/);
  assert.equal(await lock('other', '--', 'true').ended, 0);
  assert.equal(second.stdout(), '');
  first.process.stdin?.end('go\n');
  assert.equal(await first.ended, 7);
  assert.equal(await second.ended, 0);
  assert.equal(second.stdout(), 'second\n');
});

test('lock is free again when its holder was killed, and 127 says that there is no such command', async (context) => {
  const stateDir = await temporaryDirectory(context);
  const lock = (...words: string[]) => startCommand(context, ['lock', '--state-dir', stateDir, ...words], {}, 'env');
  const first = lock('deploy', '--', 'sh', '-c', 'echo first; read line');
  await first.says('first');
  first.process.kill('SIGKILL');
  await first.ended;
  const second = lock('deploy', '--', 'no-such-command');
  assert.equal(await second.ended, 127);
  assert.equal(second.stderr(), 'svc: cannot run no-such-command: ENOENT\n');
  const third = lock('deploy', '--', 'sh', '-c', 'echo third; exec sleep 1000');
  await third.says('third');
  third.process.kill('SIGTERM');
  assert.equal(await third.ended, 143);
  // A signal that comes as soon as the command runs is passed on too: else it would go on without the lock.
  for (let round = 0; round < 2; round += 1) {
    const early = lock('deploy', '--', 'sh', '-c', 'kill -TERM $PPID; exec sleep 1000');
    assert.equal(await early.ended, 143, early.stderr());
  }
});
