// Ways from a client to a server: bare, by a proxy, by ssh, and by `svc env forward`.
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Platform, startPeer } from './platform.ts';
import { freePort, start } from './processes.ts';

const root = resolve(import.meta.dirname, '../..');
const sshd = '/usr/sbin/sshd';

/** A call of the owner. */
export async function call(platform: Pick<Platform, 'port' | 'key'>, method: string, path: string, body?: object) {
  const answer = await fetch(`http://127.0.0.1:${platform.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${platform.key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text);
}

/** Makes an environment in a project, with a token for its machine. */
export async function environment(platform: Platform, project: string): Promise<{ id: string; token: string }> {
  const body = { project_id: project, provider: 'byo', name: 'Machine' };
  const { id } = (await call(platform, 'POST', '/v1/environments', body)).environment;
  const { token } = await call(platform, 'POST', `/v1/environments/${id}/enroll-token`);
  return { id, token };
}

/** A way to the server; it ends what it started. */
interface System extends AsyncDisposable {
  readonly who: string;
  /** Leads to the source. */
  readonly port: number;
}

/** Ways to one server: by itself, through a bare proxy, ssh, and the relay in the gateway and in a process of its own. */
export async function systems(platform: Platform, dir: string, say: (text: string) => void): Promise<System[]> {
  const source = await startPeer('tcp', 'source');
  const proxy = await startPeer('tcp', String(source.port));
  const found: System[] = [
    { who: 'direct', port: source.port, [Symbol.asyncDispose]: () => Promise.resolve() },
    { who: 'TCP proxy', port: proxy.port, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() },
  ];
  if (process.getuid?.() === 0 && existsSync(sshd)) found.push(await overSsh(source.port, dir));
  else say('ssh is left out: it needs root and a ssh server');
  found.push(await overRelay('svc', platform, join(dir, 'one'), source.port));
  const relayPort = await freePort();
  const running = start(join(root, 'svc'), ['up', '--only', 'relay', '--data-dir', dir], {
    ...process.env,
    SVC_RELAY_URL: `http://127.0.0.1:${relayPort}/relay`,
    SVC_PORT: String(relayPort),
    SVC_METRICS_PORT: '0',
    SVC_RATE_REQUESTS: '100000000',
  });
  await running.written(/svc relay runs at/);
  const own = await overRelay('svc, own relay', platform, join(dir, 'two'), source.port, relayPort);
  found.push({
    ...own,
    async [Symbol.asyncDispose]() {
      await own[Symbol.asyncDispose]();
      await running[Symbol.asyncDispose]();
      await source[Symbol.asyncDispose]();
    },
  });
  return found;
}

async function overSsh(to: number, dir: string): Promise<System> {
  const [port, local] = [await freePort(), await freePort()];
  const keys = join(dir, 'ssh');
  mkdirSync(keys);
  mkdirSync('/run/sshd', { recursive: true });
  for (const name of ['host', 'client'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(keys, name)]);
  const options = ['UsePAM=no', 'StrictModes=no', `AuthorizedKeysFile=${join(keys, 'client.pub')}`, 'PidFile=none'];
  const server = start(sshd, [
    '-D',
    '-e',
    '-f',
    '/dev/null',
    '-h',
    join(keys, 'host'),
    '-p',
    String(port),
    ...options.flatMap((one) => ['-o', one]),
  ]);
  await server.written(/listening on/);
  const quiet = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR'];
  const forward = `127.0.0.1:${local}:127.0.0.1:${to}`;
  const client = spawn(
    'ssh',
    ['-N', ...quiet, '-i', join(keys, 'client'), '-p', String(port), '-L', forward, '127.0.0.1'],
    { stdio: 'ignore' },
  );
  await untilConnected(local);
  return {
    who: 'ssh -L',
    port: local,
    async [Symbol.asyncDispose]() {
      client.kill();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A machine with the host's daemon, and `svc env forward` to it; `relayPort`: of another process than the gateway. */
async function overRelay(
  who: string,
  platform: Platform,
  dir: string,
  to: number,
  relayPort = platform.port,
): Promise<System> {
  mkdirSync(dir);
  const { project } = await call(platform, 'POST', '/v1/projects', {
    name: 'Forward',
    slug: `forward-${randomUUID().slice(0, 8)}`,
  });
  const { id, token } = await environment(platform, project.id);
  writeFileSync(join(dir, 'host.json'), JSON.stringify({ ports: 'loopback', roots: [dir] }));
  const env = { ...process.env, SVC_API_KEY: platform.key, SVC_BASE_URL: `http://127.0.0.1:${platform.port}` };
  const host = (file: string, ...words: string[]) =>
    start(process.execPath, [join(root, 'apps/host/src', file), ...words, '--state-dir', dir], env);
  await host('main.ts', 'enroll', token).written(/is enrolled/);
  const relayUrl = `http://127.0.0.1:${relayPort}/relay`;
  writeFileSync(join(dir, 'environments.json'), JSON.stringify([{ environment_id: id, relay_url: relayUrl }]));
  const daemon = host('main.ts', 'run');
  while (!(await call(platform, 'GET', `/relay/v1/environments/${id}/status`)).usable) await delay(100);
  const local = await freePort();
  const words = ['forward', id, String(to), '--local-port', String(local)];
  const forward = start(process.execPath, [join(root, 'apps/host/src/env.ts'), ...words, '--state-dir', dir], {
    ...env,
    SVC_RELAY_URL: relayUrl,
  });
  await untilConnected(local);
  return {
    who,
    port: local,
    async [Symbol.asyncDispose]() {
      await forward[Symbol.asyncDispose]();
      await daemon[Symbol.asyncDispose]();
    },
  };
}

async function untilConnected(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await delay(50);
  }
}
