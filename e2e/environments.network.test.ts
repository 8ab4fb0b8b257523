import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { HostCommand, Lifetime } from '../apps/host/src/testing.ts';
import { openTest, until } from '../apps/server/src/testing.ts';
import { bytesOf, few } from './environments.network.server.ts';
import { openDoor, Place, startServer, withoutNetworks as skip } from './environments.network.testing.ts';
import { enrolMachine } from './environments.testing.ts';
import { Line } from './execs.testing.ts';
import { freePort, noSandboxes, type Platform, startPlatform, temporaryFolder } from './platform.ts';

/** Of the large transfer; `SVC_TEST_GIB=1` for whole gibibytes. */
const large = Number(process.env['SVC_TEST_GIB'] ?? 1 / 64) * 1024;

/** A gateway here, a daemon in one network, and its owner in another; both reach the gateway over their wires alone. */
async function setUp(stack: AsyncDisposableStack) {
  const context: Lifetime = { after: (work) => stack.defer(async () => void (await work())) };
  const [machine, owner] = [stack.use(new Place()), stack.use(new Place())];
  const url = `http://${machine.near}:${await freePort()}`;
  const settings = { SVC_HOST: machine.near, SVC_PORT: new URL(url).port, SVC_RELAY_URL: `${url}/relay` };
  const t = stack.use(await openTest({ settings }));
  /** Connections of daemons at the gateway, by the address at their other end. */
  const open = new Map<Socket, string | undefined>();
  t.gateway.app.http.server.on('upgrade', ({ url: path = '' }: IncomingMessage, socket: Socket) => {
    if (!path.endsWith('/serve')) return;
    open.set(socket, socket.remoteAddress);
    socket.once('close', () => open.delete(socket));
  });
  const enrolled = await enrolMachine(context, stack, {
    gateway: t.gateway,
    account: t.account,
    at: { url, through: machine.through },
    from: { url, through: owner.through },
    policy: { ports: 'loopback' },
  });
  const isConnected = (from: string): boolean => [...open.values()].includes(from);
  return { ...t, ...enrolled, ...(await forwarding(context, machine, owner, enrolled)), machine, url, isConnected };
}

/** A server on the machine, and what its owner does with it by `svc env forward`. */
async function forwarding(
  context: Lifetime,
  machine: Place,
  owner: Place,
  { id, env }: { id: string; env: (...words: string[]) => HostCommand },
) {
  const server = await startServer(context, machine);
  /** Forwards it to the owner; answers where the tests reach that. */
  const forward = async (): Promise<string> => {
    const command = env('forward', id, String(server.port));
    await command.says(/127\.0\.0\.1:\d+ leads to/);
    return openDoor(context, owner, Number(/127\.0\.0\.1:(\d+)/.exec(command.stdout())?.[1]));
  };
  return { server, forward };
}

/** Asks over a socket; answers the hash and the length of what is said. */
async function hashOver(socketPath: string, path: string): Promise<[string, number]> {
  const asked = request({ socketPath, path, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of response) {
    hash.update(chunk);
    length += chunk.length;
  }
  return [hash.digest('hex'), length];
}

async function textOver(socketPath: string, path: string, body: Iterable<Buffer> = []): Promise<string> {
  const asked = request({ socketPath, path, agent: false, method: body === undefined ? 'GET' : 'POST' });
  const answered = once(asked, 'response');
  for (const bytes of body) if (!asked.write(bytes)) await once(asked, 'drain');
  asked.end();
  const [response] = (await answered) as [NodeJS.ReadableStream];
  return text(response as never);
}

function expected(pieces: number): [string, number] {
  const hash = createHash('sha256');
  let length = 0;
  for (const bytes of bytesOf(pieces)) {
    hash.update(bytes);
    length += bytes.length;
  }
  return [hash.digest('hex'), length];
}

/** A forward works: until one does, attempts through it fail as the network does. */
async function works(path: string): Promise<void> {
  await until(async () => (await textOver(path, '/').catch(() => '')) === 'hello');
  assert.deepEqual(await hashOver(path, '/bytes/4'), expected(4));
}

describe('a machine in a network of its own', { skip }, () => {
  /** One machine: each test leaves it usable, and what is forwarded at the start outlives them all. */
  const stack = new AsyncDisposableStack();
  let s: Awaited<ReturnType<typeof setUp>>;
  let path: string;
  let address: string;
  before(async () => {
    s = await setUp(stack);
    address = s.machine.far;
    s.start();
    await s.usable();
    path = await s.forward();
  });
  after(() => stack.disposeAsync());

  test('a server of it is listed with its process, and comes to its owner elsewhere whole: HTTP, a WebSocket, a large file, 200 connections', {
    timeout: 600_000 + large * 1_000,
  }, async () => {
    const { port, pid, process: name } = s.server;
    const listed = async () => (await s.status()).ports.find((one: { port: number }) => one.port === port);
    await until(async () => (await listed()) !== undefined);
    assert.deepEqual(await listed(), { port, pid, process: name });
    assert.equal(await textOver(path, '/'), 'hello');
    const socket = new WebSocket(`ws+unix:${path}:/`);
    await once(socket, 'open');
    const said = randomBytes(200_000);
    socket.send(said);
    assert.deepEqual(await once(socket, 'message'), [said, true]);
    socket.terminate();
    assert.deepEqual(await hashOver(path, `/bytes/${large}`), expected(large));
    assert.equal(await textOver(path, '/hash', bytesOf(large)), expected(large)[0]);
    const all = await Promise.all(Array.from({ length: 200 }, () => hashOver(path, '/few')));
    const one = [createHash('sha256').update(few).digest('hex'), few.length];
    for (const each of all) assert.deepEqual(each, one);
  });

  test('its git state follows a commit', async () => {
    await writeFile(join(s.root, 'a.txt'), 'one');
    await until(async () => (await s.status()).git_state?.dirty === true);
    s.git('add', '.');
    s.git('commit', '-q', '-m', 'first');
    s.git('branch', '-m', 'work');
    await until(async () => {
      const { git_state: state } = await s.status();
      return state?.dirty === false && state.branch === 'work';
    });
  });

  test('a machine whose link is down is told to be away, and is usable again by itself when it is back', async (context) => {
    await works(path);
    const began = performance.now();
    s.machine.down();
    await until(async () => !(await s.status()).usable);
    context.diagnostic(`it was not usable any more after ${Math.round(performance.now() - began)} ms`);
    await until(async () => !(await s.status()).online);
    context.diagnostic(`it was offline after ${Math.round(performance.now() - began)} ms`);
    s.machine.up();
    await s.usable();
    await works(path);
    // Shorter than anybody takes to notice: the time is what this is about.
    s.machine.down();
    await delay(3_000);
    s.machine.up();
    await works(path);
    await s.usable();
  });

  test('a machine whose daemon is killed is offline, and is back with the daemon, without a new token', async (context) => {
    await works(path);
    const began = performance.now();
    s.daemon().process.kill('SIGKILL');
    await until(async () => !(await s.status()).online);
    context.diagnostic(`it was offline after ${Math.round(performance.now() - began)} ms`);
    s.start();
    await s.usable();
    await works(path);
  });

  // The last of that machine: from another network its wire does not come up again.
  for (const [how, move] of [
    ['of the same network', (place: Place) => place.moveWithin(address)],
    ['of another network', (place: Place) => place.moveAway(address)],
  ] as const) {
    test(`a machine that gets an address ${how} is usable again by itself, and its old connection is gone`, async (context) => {
      const before = address;
      await works(path);
      await until(() => s.isConnected(before));
      const began = performance.now();
      address = move(s.machine);
      await until(() => !s.isConnected(before));
      context.diagnostic(`the old connection was gone after ${Math.round(performance.now() - began)} ms`);
      await until(() => s.isConnected(address));
      await s.usable();
      await works(path);
    });
  }

  test('bytes are the same over two relays, and machine and owner come back by the one that is left', async (context) => {
    const stack = new AsyncDisposableStack();
    context.after(() => stack.disposeAsync());
    const [machine, owner] = [stack.use(new Place()), stack.use(new Place())];
    const [ofMachine, ofOwner] = [stack.use(new Line()), stack.use(new Line())];
    const [url, from] = [await ofMachine.open(machine.near), await ofOwner.open(owner.near)];
    const t = stack.use(await openTest({ gateways: 2, settings: { SVC_RELAY_URL: `${url}/relay` } }));
    ofMachine.lead(t.gateway.url);
    ofOwner.lead(t.second.url);
    const s = await enrolMachine(context, stack, {
      gateway: t.gateway,
      account: t.account,
      at: { url, through: machine.through },
      from: { url: from, through: owner.through },
      policy: { ports: 'loopback' },
    });
    s.start();
    await s.usable();
    assert.equal((await s.status()).instance, t.gateway.kernel.gateways.id);
    const { forward } = await forwarding(context, machine, owner, s);
    const path = await forward();
    assert.deepEqual(await hashOver(path, `/bytes/${large}`), expected(large));
    assert.equal(await textOver(path, '/hash', bytesOf(large)), expected(large)[0]);
    // From here on both hang on the one that goes.
    ofOwner.lead(t.gateway.url);
    await works(path);
    const endless = request({ socketPath: path, path: '/endless', agent: false }).end();
    const [response] = (await once(endless, 'response')) as [NodeJS.ReadableStream];
    const broken = new Promise((resolve) => void response.once('error', resolve));
    response.resume();
    await t.gateway.close();
    ofMachine.lead(t.second.url);
    ofOwner.lead(t.second.url);
    await broken;
    await until(async () => (await s.status().catch(() => undefined))?.instance === t.second.kernel.gateways.id);
    await s.usable();
    await works(path);
  });

  test('a reader that stops costs the gateway less than 10 MiB, however much its machine has to say', {
    timeout: 900_000,
  }, async (context) => {
    const stack = new AsyncDisposableStack();
    context.after(() => stack.disposeAsync());
    const folder = stack.use(temporaryFolder());
    const machine = stack.use(new Place());
    const port = await freePort();
    const url = `http://${machine.near}:${port}`;
    const platform = await startPlatform(join(folder.path, 'data'), port, {
      ...noSandboxes,
      SVC_HOST: machine.near,
      SVC_RELAY_URL: `${url}/relay`,
      NODE_OPTIONS: '--inspect-port=0',
    });
    stack.defer(async () => void (await platform.end()));
    const s = await enrolMachine(context, stack, {
      gateway: { url },
      account: { key: platform.key },
      at: { url, through: machine.through },
      from: { url },
      policy: { ports: 'loopback' },
    });
    s.start();
    await s.usable();
    const server = await startServer(context, machine);
    const memory = await memoryOf(stack, platform);
    const levels: number[] = [];
    const stopped: number[] = [];
    // The first one warms up.
    for (let round = 0; round <= 3; round += 1) {
      await until(async () => (await s.status()).streams === 0);
      const level = await memory();
      const reader = await s.attach(`kind=port&port=${server.port}`);
      let read = 0;
      reader.on('message', (bytes: Buffer) => void (read += bytes.length));
      reader.pause();
      reader.send('GET /endless HTTP/1.1\r\nhost: machine\r\n\r\n');
      await untilStill(server.control);
      const now = await memory();
      context.diagnostic(`round ${round}: ${level} KiB, and ${now} KiB with a reader that stopped`);
      if (round > 0) {
        levels.push(level);
        stopped.push(now);
      }
      // It had stopped, and was not broken.
      reader.resume();
      await until(() => read > 16 * 1024 * 1024);
      reader.terminate();
      await once(reader, 'close');
    }
    // A process that has just carried much keeps some of it for a while: the lowest level is the one without.
    const grown = (stopped.toSorted((a, b) => a - b)[1] as number) - Math.min(...levels);
    context.diagnostic(`it has grown by ${grown} KiB`);
    assert.ok(grown < 10 * 1024, `${grown} KiB: ${stopped.join(', ')} after ${levels.join(', ')}`);
  });
});

/** Waits until nothing more leaves `/endless` for 5 s. */
async function untilStill(control: string): Promise<void> {
  let seen = '';
  let since = performance.now();
  await until(async () => {
    const now = await textOver(control, '/written');
    if (now !== seen) [seen, since] = [now, performance.now()];
    return now !== '0' && performance.now() - since > 5_000;
  });
}

/** Answers what tells how many KiB of memory a process has for itself (RssAnon), once its garbage is collected. */
async function memoryOf(
  stack: AsyncDisposableStack,
  { process: { pid }, printed }: Platform,
): Promise<() => Promise<number>> {
  process.kill(pid as number, 'SIGUSR1');
  const [, address = ''] = await printed(/Debugger listening on (ws:\S+)/);
  const inspector = new WebSocket(address);
  // A process that is looked into does not end.
  stack.defer(() => inspector.terminate());
  await once(inspector, 'open');
  const rss = (): number => Number(/RssAnon:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  const collect = async (): Promise<number> => {
    const answered = once(inspector, 'message');
    inspector.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
    await answered;
    return rss();
  };
  return async () => {
    // What a collection sets free goes back to the system over some seconds.
    let lowest = await collect();
    for (let since = performance.now(); performance.now() - since < 3_000; await delay(1_000)) {
      const now = await collect();
      if (now < lowest - 256) since = performance.now();
      lowest = Math.min(lowest, now);
    }
    return lowest;
  };
}
