import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { WebSocket } from 'ws';
import { lineOf, startCommand, startLineOnTerminal, temporaryDirectory } from '../apps/host/src/testing.ts';
import { environmentOf } from '../apps/server/src/features/environments/environments.testing.ts';
import { openSocket } from '../apps/server/src/features/relay/relay.testing.ts';
import { http, openTest, until } from '../apps/server/src/testing.ts';
import { Line } from './execs.testing.ts';

/** A gateway behind a line, and a machine with a repository that is enrolled in an environment by its command. */
export async function setUp(context: TestContext, policy: object = {}) {
  const stack = new AsyncDisposableStack();
  context.after(() => stack.disposeAsync());
  const line = stack.use(new Line());
  const url = await line.open();
  const t = stack.use(await openTest({ settings: { SVC_RELAY_URL: `${url}/relay` } }));
  line.lead(t.gateway.url);
  const machine = await enrolMachine(context, stack, { gateway: t.gateway, account: t.account, at: { url }, policy });
  return { ...t, ...machine, line, url };
}

/** Where a command runs, and the address by which it reaches the gateway from there. */
interface Reach {
  url: string;
  /** Words of a command that becomes it there. */
  through?: readonly string[];
}

/**
 * A machine with a repository that is enrolled in a new environment by its command; `from`: where its owner is, if elsewhere.
 * Its daemon ends with the stack.
 */
export async function enrolMachine(
  context: TestContext,
  stack: AsyncDisposableStack,
  {
    gateway,
    account: { key },
    at,
    from = at,
    policy = {},
  }: { gateway: { url: string }; account: { key: string }; at: Reach; from?: Reach; policy?: object },
) {
  const [stateDir, root] = [await temporaryDirectory(context), await temporaryDirectory(context)];
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, '-c', 'user.name=Ana', '-c', 'user.email=a@b.test', ...args]).toString();
  git('init', '-q', '-b', 'main');
  await writeFile(join(stateDir, 'host.json'), JSON.stringify({ ops: { shell: 'allow' }, roots: [root], ...policy }));
  const id = await environmentOf(gateway, { key });
  const call = (method: string, end = '', body?: object) =>
    http(from.url, `/v1/environments/${id}${end}`, { method, key, ...(body && { body }) });
  const { token } = (await call('POST', '/enroll-token')).body;
  const common = ['--state-dir', stateDir, '--url', at.url];
  const enrolled = startCommand(context, ['enroll', token, ...common], { HOME: root }, 'main', at.through);
  assert.equal(await enrolled.ended, 0, enrolled.stderr());
  const start = () => {
    const ofDaemon = { SVC_API_KEY: key, HOME: root, SHELL: '/bin/bash' };
    const daemon = startCommand(context, ['run', ...common, '--name', 'box'], ofDaemon, 'main', at.through);
    stack.defer(async () => {
      daemon.process.kill('SIGKILL');
      await daemon.ended;
    });
    return daemon;
  };
  const status = async () => (await http(from.url, `/relay/v1/environments/${id}/status`, { key })).body;
  const ofOwner = ['--state-dir', stateDir, '--url', from.url];
  const environment = { SVC_API_KEY: key, HOME: root };
  return {
    id,
    root,
    stateDir,
    git,
    call,
    start,
    status,
    // A line that was cut answers nothing for a moment.
    usable: () => until(async () => (await status().catch(() => undefined))?.usable === true),
    /** Starts `svc env …` as the owner. */
    env: (...words: string[]) => startCommand(context, [...words, ...ofOwner], environment, 'env', from.through),
    /** `svc env …` as a line of a shell, for a terminal. */
    envLine: (...words: string[]) => lineOf('env', [...words, ...ofOwner]),
    onTerminal: (line: string) => startLineOnTerminal(context, line, environment),
    attach: (query: string): Promise<WebSocket> =>
      openSocket(`${from.url}/relay/v1/environments/${id}/attach?${query}`, { authorization: `Bearer ${key}` }),
  };
}

/** A machine that may be reached by everything of its loopback, and is there. */
export async function setUpUsable(context: TestContext, policy: object = { ports: 'loopback' }) {
  const s = await setUp(context, policy);
  const daemon = s.start();
  await s.usable();
  const { slug } = (await s.call('GET')).body.environment as { slug: string };
  return { ...s, daemon, slug };
}

/** A server of TCP that says again what it hears. */
export async function echoServer(context: TestContext): Promise<number> {
  const echo = createServer({ allowHalfOpen: true }, (socket) => void socket.on('error', () => {}).pipe(socket));
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  context.after(() => echo.close());
  return (echo.address() as AddressInfo).port;
}

/** A port on which nothing listens now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
