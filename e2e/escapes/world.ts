import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/** The surroundings of the sandboxes of a test, for code inside to reach for. */
export interface World {
  /** Values for the placeholders of an attempt. */
  values: Readonly<Record<string, string>>;
  /** Port of the canary servers, and of the server behind `allowed.example`. */
  port: number;
  /** Requests to places that nothing may reach; emptied by the call. */
  hits(): string[];
  /** Fails when anything of the host is not as it was. */
  unchanged(): void;
  close(): Promise<void>;
}

/** An address of this machine where nothing else listens: what `allowed.example` is. */
const front = '127.0.0.77';
const names = { [front]: ['allowed.example'], '127.0.0.1': ['denied.example', 'rebind.example', 'xallowed.example'] };
/** A difference between clocks that no load explains. */
const jumpMs = 60_000;

/** Opens the canaries, and names them in the hosts file. */
export async function openWorld(): Promise<World> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-escapes-'));
  const canary = join(dir, 'canary');
  const secret = randomUUID();
  writeFileSync(canary, secret, { mode: 0o644 });
  const seen: string[] = [];
  const { port, servers } = await openServers(seen);
  const process = await startCanary(dir);
  const forget = nameHosts(`# svc-escapes-${randomUUID()}`);
  const before = hostState(canary);
  return {
    values: { canary, port: String(port), pid: String(process.pid), hostname: hostname() },
    port,
    hits: () => seen.splice(0),
    unchanged() {
      const { clock, ...now } = hostState(canary);
      const { clock: was, ...then } = before;
      assert.deepEqual(now, then);
      assert.ok(Math.abs(clock - was) < jumpMs, 'the clock of the host was set');
      assert.equal(process.exitCode ?? process.signalCode, null, 'a process of the host was ended');
    },
    async close() {
      forget();
      process.kill('SIGKILL');
      for (const server of servers) server.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function openServers(seen: string[]): Promise<{ port: number; servers: { close(): unknown }[] }> {
  const canary = createHttp((request, response) => {
    seen.push(`${request.method} ${request.url} Host: ${request.headers.host}`);
    response.end('canary');
  });
  const port = await listen(canary, 0, '127.0.0.1');
  const sixth = createHttp((request, response) => void canary.emit('request', request, response));
  await listen(sixth, port, '::1');
  const udp = createSocket('udp4', (message) => seen.push(`datagram ${message.toString('latin1')}`));
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  // A server that may be reached by its own name, and by no other.
  const allowed = createHttp((request, response) => {
    const { host } = request.headers;
    if (host === `allowed.example:${port}` && !request.url?.includes('canary')) return response.end('front');
    seen.push(`allowed.example: ${request.method} ${request.url} Host: ${host}`);
    return response.end('canary denied-canary');
  });
  await listen(allowed, port, front);
  const others: Server[] = [];
  for (const closed of [22, 443, 5432]) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        // A TLS hello that names the host it was opened to is what may come.
        if (closed === 443 && bytes[0] === 0x16 && !bytes.includes('denied')) return;
        seen.push(`allowed.example:${closed}: ${bytes.toString('latin1').slice(0, 60)}`);
        socket.end('canary');
      });
    });
    await listen(server, closed, front);
    others.push(server);
  }
  const abstract = createServer((socket) => {
    seen.push('abstract socket');
    socket.end();
  });
  abstract.listen('\0svc-test-canary');
  await once(abstract, 'listening');
  return { port, servers: [canary, sixth, udp, allowed, abstract, ...others] };
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A process whose name on the host is `canary`. */
async function startCanary(dir: string): Promise<ChildProcess> {
  const program = join(dir, 'canary-program', 'canary');
  execFileSync('mkdir', [join(dir, 'canary-program')]);
  copyFileSync('/bin/sleep', program);
  const child = spawn(program, ['86400'], { stdio: 'ignore' });
  await once(child, 'spawn');
  child.unref();
  return child;
}

/** The node resolves what its operator allows by the hosts file. Answers how to take the names out again. */
function nameHosts(marker: string): () => void {
  const lines = Object.entries(names).flatMap(([address, hosts]) =>
    hosts.map((host) => `${address} ${host} ${marker}`),
  );
  const read = (): string => readFileSync('/etc/hosts', 'utf8');
  writeFileSync('/etc/hosts', `${read().trimEnd()}\n${lines.join('\n')}\n`);
  return () => {
    const kept = read()
      .split('\n')
      .filter((line) => !line.endsWith(marker));
    writeFileSync('/etc/hosts', kept.join('\n'));
  };
}

const kept = [
  '/proc/sys/kernel/core_pattern',
  '/proc/sys/kernel/modprobe',
  '/proc/sys/kernel/randomize_va_space',
  '/proc/sys/kernel/sysrq',
  '/proc/sys/kernel/hostname',
  '/proc/sys/vm/overcommit_memory',
  '/sys/kernel/uevent_helper',
];
/** Lines of Linux users that other tests make on this machine. */
const usersOfTests = /^svc-.*\n/gm;
/** Networks of machines that `environments.network.testing.ts` makes: the interface, and the name of its space. */
const networksOfTests = /^(?:svc\d+n\d+|\/run\/netns(?:\/svc-\d+-\d+)?)$/;

/** What another run on this machine writes to. */
const scratchOfRuns = /\/svc-tests-\w{6}(?:\/|$)/;

/** State that code inside could want to change; leaves out what other tests on this machine change. */
function hostState(canary: string) {
  const read = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => !path.startsWith(tmpdir()) && !scratchOfRuns.test(path) && !networksOfTests.test(path));
  return {
    files: [canary, ...kept].map((path) => [path, read(path)]),
    accounts: ['/etc/passwd', '/etc/shadow'].map((path) => [path, read(path)?.replace(usersOfTests, '')]),
    mounts,
    groups: ['', 'memory', 'pids', 'unified'].map((name) => groupsOf(join('/sys/fs/cgroup', name))),
    interfaces: readdirSync('/sys/class/net').filter((name) => !networksOfTests.test(name)),
    // The clock of the wall against one that nobody can set.
    clock: Date.now() - performance.now(),
  };
}

const groupsOf = (path: string): string[] =>
  existsSync(path)
    ? readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() && !entry.name.startsWith('svc-') ? [entry.name] : [],
      )
    : [];
