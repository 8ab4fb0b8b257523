import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import type { WebSocket } from 'ws';
import {
  type HostCommand,
  type Lifetime,
  lineOf,
  startCommand,
  startLineOnTerminal,
  temporaryDirectory,
} from '../apps/host/src/testing.ts';
import { environmentOf } from '../apps/server/src/features/environments/environments.testing.ts';
import { openSocket } from '../apps/server/src/features/relay/relay.testing.ts';
import { http, openTest, until } from '../apps/server/src/testing.ts';
import { Line } from './execs.testing.ts';

/** A gateway behind a line, and machines that are enrolled there by their command. */
async function openLine(stack: AsyncDisposableStack) {
  const line = stack.use(new Line());
  const url = await line.open();
  const { gateway, account } = stack.use(await openTest({ settings: { SVC_RELAY_URL: `${url}/relay` } }));
  line.lead(gateway.url);
  const enrol = async (lifetime: Lifetime, policy?: object) => {
    const own = new AsyncDisposableStack();
    lifetime.after(() => own.disposeAsync());
    const machine = await enrolMachine(lifetime, own, { gateway, account, at: { url }, ...(policy && { policy }) });
    return { ...machine, gateway, account, line, url };
  };
  return { enrol };
}

/**
 * A gateway behind a line and a machine whose daemon runs, for the tests of a file. `usable`: that machine with a
 * policy, whatever the test before did to it; its commands end with the test. `enrol`: another one, for a test alone.
 */
export function sharedMachine() {
  const stack = new AsyncDisposableStack();
  const opening = async () => {
    const { enrol } = await openLine(stack);
    const machine = await enrol({ after: (work) => stack.defer(async () => void (await work())) });
    machine.start();
    await machine.usable();
    const { slug } = (await machine.call('GET')).body.environment as { slug: string };
    return { enrol, machine, slug };
  };
  let opened: ReturnType<typeof opening>;
  before(() => (opened = opening()));
  after(() => stack.disposeAsync());
  const usable = async (context: TestContext, policy: object = { ports: 'loopback' }) => {
    const { machine, slug } = await opened;
    await machine.allow(policy);
    await machine.usable();
    return { ...machine, slug, ...machine.commandsOf(context) };
  };
  const enrol = async (context: TestContext, policy?: object) => (await opened).enrol(context, policy);
  return { usable, enrol };
}

/** Where a command runs, and the address by which it reaches the gateway from there. */
interface Reach {
  url: string;
  /** Words of a command that becomes it there. */
  through?: readonly string[];
}

/** Writes what a machine lets in; a daemon that reads it meanwhile has the policy of before. */
async function writePolicy(stateDir: string, policy: object): Promise<void> {
  const file = join(stateDir, 'host.json');
  await writeFile(`${file}.new`, JSON.stringify(policy));
  await rename(`${file}.new`, file);
}

/** Commands of an owner, each until a lifetime ends. */
const commandsAs =
  (environment: Record<string, string>, ofOwner: readonly string[], through?: readonly string[]) =>
  (lifetime: Lifetime) => ({
    /** Starts `svc env …` as the owner. */
    env: (...words: string[]) => startCommand(lifetime, [...words, ...ofOwner], environment, 'env', through),
    onTerminal: (line: string) => startLineOnTerminal(lifetime, line, environment),
  });

/**
 * A machine with a repository that is enrolled in a new environment by its command; `from`: where its owner is, if elsewhere.
 * Its daemon ends with the stack.
 */
export async function enrolMachine(
  context: Lifetime,
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
  const allow = (what: object) => writePolicy(stateDir, { ops: { shell: 'allow' }, roots: [root], ...what });
  await allow(policy);
  const id = await environmentOf(gateway, { key });
  const call = (method: string, end = '', body?: object) =>
    http(from.url, `/v1/environments/${id}${end}`, { method, key, ...(body && { body }) });
  const { token } = (await call('POST', '/enroll-token')).body;
  const common = ['--state-dir', stateDir, '--url', at.url];
  const enrolled = startCommand(context, ['enroll', token, ...common], { HOME: root }, 'main', at.through);
  assert.equal(await enrolled.ended, 0, enrolled.stderr());
  let running: HostCommand | undefined;
  const start = () => {
    const ofDaemon = { SVC_API_KEY: key, HOME: root, SHELL: '/bin/bash' };
    const daemon = startCommand(context, ['run', ...common, '--name', 'box'], ofDaemon, 'main', at.through);
    running = daemon;
    stack.defer(async () => {
      daemon.process.kill('SIGKILL');
      await daemon.ended;
    });
    return daemon;
  };
  const status = async () => (await http(from.url, `/relay/v1/environments/${id}/status`, { key })).body;
  const ofOwner = ['--state-dir', stateDir, '--url', from.url];
  const commandsOf = commandsAs({ SVC_API_KEY: key, HOME: root }, ofOwner, from.through);
  return {
    id,
    root,
    stateDir,
    git,
    call,
    allow,
    start,
    /** The daemon that was started last. */
    daemon: () => running ?? assert.fail('no daemon was started'),
    status,
    // A line that was cut answers nothing for a moment.
    usable: () => until(async () => (await status().catch(() => undefined))?.usable === true),
    ...commandsOf(context),
    commandsOf,
    /** `svc env …` as a line of a shell, for a terminal. */
    envLine: (...words: string[]) => lineOf('env', [...words, ...ofOwner]),
    attach: (query: string): Promise<WebSocket> =>
      openSocket(`${from.url}/relay/v1/environments/${id}/attach?${query}`, { authorization: `Bearer ${key}` }),
  };
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
