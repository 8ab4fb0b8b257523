import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { processStart } from '@svc/process-lock';
import { createWebSocketStream, type WebSocket } from 'ws';
import { startCommand } from '../apps/host/src/testing.ts';
import { clientOf, until } from '../apps/server/src/testing.ts';
import { echoServer, sharedMachine } from './environments.testing.ts';

const { usable, enrol } = sharedMachine();

/** A terminal with what it has written. */
function terminalOf(socket: WebSocket) {
  let text = '';
  let end: unknown;
  socket.on('message', (data, isBinary) => {
    if (isBinary) text += (data as Buffer).toString();
    else end = JSON.parse((data as Buffer).toString());
  });
  return {
    type: (what: string) => socket.send(Buffer.from(what)),
    resize: (cols: number, rows: number) => socket.send(JSON.stringify({ resize: { cols, rows } })),
    says: (what: RegExp) => until(() => what.test(text)).catch(() => assert.fail(JSON.stringify(text.slice(-2_000)))),
    text: () => text,
    end: () => end,
    closed: once(socket, 'close'),
  };
}

test('a machine that is enrolled by one command runs, and tells its listeners, its git state and its locks', async (context) => {
  const s = await usable(context, {});
  assert.equal((await stat(join(s.stateDir, 'environments.json'))).mode & 0o777, 0o600);
  assert.equal((await s.call('GET')).body.environment.state, 'running');
  const page = createServer((_request, response) => void response.end('hello')).listen(0, '127.0.0.1');
  context.after(() => page.close());
  await once(page, 'listening');
  const { port } = page.address() as AddressInfo;
  await mkdir(join(s.stateDir, 'locks'));
  const lock = { pid: process.pid, started: processStart(process.pid), user: 'ana', since: 5 };
  await writeFile(join(s.stateDir, 'locks', 'deploy.json'), JSON.stringify(lock));
  await writeFile(join(s.root, 'a.txt'), 'one');
  s.git('add', '.');
  s.git('commit', '-q', '-m', 'first');
  await writeFile(join(s.root, 'b.txt'), 'two');
  let seen = await s.status();
  await until(async () => {
    seen = await s.status();
    return (
      seen.ports.some((one: { port: number }) => one.port === port) &&
      seen.git_state?.branch === 'main' &&
      seen.git_state.dirty
    );
  });
  assert.deepEqual(
    seen.ports.find((one: { port: number }) => one.port === port),
    { port, pid: process.pid, process: (await readFile('/proc/self/comm', 'utf8')).trim() },
  );
  assert.deepEqual(seen.git_state, {
    branch: 'main',
    dirty: true,
    ahead: 0,
    behind: 0,
    worktrees: [{ path: s.root, branch: 'main', dirty: true }],
  });
  assert.deepEqual(
    seen.locks.filter(({ name }: { name: string }) => name === 'deploy'),
    [{ name: 'deploy', holder: `ana (pid ${process.pid})`, since: 5 }],
  );
  assert.deepEqual([seen.daemon.os, seen.daemon.arch], [process.platform, process.arch]);
});

test('a terminal is a real one: sizes, Ctrl-C, UTF-8, 200,000 lines, its exit code, and no key inside', async (context) => {
  const s = await usable(context, {});
  const socket = await s.attach('kind=terminal&cols=100&rows=40');
  const terminal = terminalOf(socket);
  terminal.type('stty size; tty\n');
  await terminal.says(/[\r\n]40 100\r\n\/dev\/pts\/\d+/);
  terminal.resize(120, 50);
  await until(async () => {
    terminal.type('stty size\n');
    await terminal.says(/\d+ \d+\r\n/);
    return /[\r\n]50 120\r\n/.test(terminal.text());
  });
  terminal.type('printf "%s\\n" ăîș日本\n');
  await terminal.says(/[\r\n]ăîș日本\r\n/);
  // One program that says so by itself: of a list the shell may get the signal before it starts the next.
  terminal.type("sh -c 'echo ready; exec sleep 1000'\n");
  await terminal.says(/[\r\n]ready\r\n/);
  terminal.type('\u0003');
  // What is typed before the shell asks again is thrown away with the program.
  await terminal.says(/\^C[^]*[#$] $/);
  terminal.type('echo after-$((40+2))\n');
  await terminal.says(/[\r\n]after-42\r\n/);
  terminal.type('env | grep -c -i svc_ ; echo counted\n');
  await terminal.says(/[\r\n]0\r\ncounted\r\n/);
  terminal.type('seq 1 200000; echo end-$((1+1))\n');
  await terminal.says(/[\r\n]200000\r\nend-2\r\n/);
  // The first stands behind what the shell writes for itself.
  const lines = terminal.text().split('\r\n');
  const numbers = lines.filter((line) => /^\d+$/.test(line)).slice(-199_999);
  assert.ok(numbers.length === 199_999 && numbers.every((line, at) => line === String(at + 2)));
  terminal.type('exit 7\n');
  await terminal.closed;
  assert.deepEqual(terminal.end(), { exit_code: 7, signal: null });
});

test('a terminal that is left takes its programs with it', async (context) => {
  const s = await usable(context, {});
  const socket = await s.attach('kind=terminal');
  const terminal = terminalOf(socket);
  terminal.type('sleep 98765 & echo pid-$!\n');
  await terminal.says(/pid-(\d+)\r/);
  const pid = Number(/pid-(\d+)\r/.exec(terminal.text())?.[1]);
  socket.terminate();
  await until(() =>
    stat(`/proc/${pid}`).then(
      () => false,
      () => true,
    ),
  );
});

async function sent(socket: WebSocket, bytes: Buffer): Promise<string> {
  const stream = createWebSocketStream(socket);
  const hash = createHash('sha256');
  let left = bytes.length;
  const done = new Promise<void>((resolve, reject) => {
    stream.once('error', reject);
    stream.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      left -= chunk.length;
      if (left === 0) resolve();
    });
  });
  for (let at = 0; at < bytes.length; at += 65_536)
    if (!stream.write(bytes.subarray(at, at + 65_536))) await once(stream, 'drain');
  await done;
  stream.destroy();
  return hash.digest('hex');
}

test('ports: published ones alone unless the policy of the machine says otherwise, bytes equal, many at once', async (context) => {
  const s = await usable(context, {});
  const port = await echoServer(context);
  await assert.rejects(s.attach(`kind=port&port=${port}`), { status: 403, message: /is not published/ });
  await s.call('PUT', `/ports/${port}`, { visibility: 'owner' });
  const bytes = randomBytes(4 * 1024 * 1024);
  const expected = createHash('sha256').update(bytes).digest('hex');
  assert.equal(await sent(await s.attach(`kind=port&port=${port}`), bytes), expected);
  const small = randomBytes(10_000);
  const same = createHash('sha256').update(small).digest('hex');
  const all = await Promise.all(
    Array.from({ length: 60 }, async () => sent(await s.attach(`kind=port&port=${port}`), small)),
  );
  assert.ok(all.every((one) => one === same));
  await s.allow({ ports: 'refuse', terminal: 'refuse' });
  await assert.rejects(s.attach(`kind=port&port=${port}`), { status: 403, message: /forwards no port/ });
  await assert.rejects(s.attach('kind=terminal'), { status: 403, message: /opens no terminals/ });
});

test('a daemon that is killed, cut off or frozen is offline, and comes back without a command', async (context) => {
  const s = await usable(context, {});
  const port = await echoServer(context);
  await s.call('PUT', `/ports/${port}`, { visibility: 'owner' });
  s.daemon().process.kill('SIGKILL');
  await until(async () => !(await s.status()).online);
  await assert.rejects(s.attach(`kind=port&port=${port}`), { status: 409 });
  const second = s.start();
  await s.usable();
  // Cut: the line carries nothing, and says nothing of it.
  s.line.lead();
  s.line.lead(s.gateway.url);
  await s.usable();
  second.process.kill('SIGSTOP');
  await until(async () => !(await s.status()).usable);
  second.process.kill('SIGCONT');
  await s.usable();
  const bytes = randomBytes(100_000);
  const expected = createHash('sha256').update(bytes).digest('hex');
  assert.equal(await sent(await s.attach(`kind=port&port=${port}`), bytes), expected);
});

test('a machine whose disk is full is not usable, though its daemon reports, and is again when there is room', {
  skip: process.getuid?.() !== 0 && 'needs root',
}, async (context) => {
  const s = await enrol(context);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=0700', 'tmpfs', s.stateDir]);
  // Before the hooks that remove its folder.
  await using _mounted = { [Symbol.asyncDispose]: async () => void execFileSync('umount', ['-l', s.stateDir]) };
  const { token } = (await s.call('POST', '/enroll-token')).body;
  const enroll = ['enroll', token, '--state-dir', s.stateDir, '--url', s.url];
  const enrolled = startCommand(context, enroll, { HOME: s.root });
  assert.equal(await enrolled.ended, 0, enrolled.stderr());
  s.start();
  await s.usable();
  const ballast = join(s.stateDir, 'ballast');
  const reports = new Set<number>();
  // On a busy machine a report may come late, and it is away for a moment.
  await until(async () => {
    // Again at each look: what the daemon had there a moment ago, and removed since, is room.
    await appendFile(ballast, Buffer.alloc(2 ** 20)).catch(() => {});
    const { usable, online, last_heartbeat: reportedAt } = await s.status();
    if (online && !usable) reports.add(reportedAt);
    // The first may have been sent before the disk was full.
    return reports.size > 1;
  });
  await rm(ballast);
  await s.usable();
});

test('an environment that is put aside is forgotten by its machine, which serves again once it is enrolled again', async (context) => {
  // The last: this is the machine of the other tests.
  const s = await usable(context, {});
  await s.call('POST', '/archive');
  await s.daemon().says(/is served no more/);
  assert.deepEqual(JSON.parse(await readFile(join(s.stateDir, 'environments.json'), 'utf8')), []);
  const { token } = (await s.call('POST', '/enroll-token')).body;
  const again = startCommand(context, ['enroll', token, '--state-dir', s.stateDir, '--url', s.url], { HOME: s.root });
  assert.equal(await again.ended, 0, again.stderr());
  await s.usable();
  const client = clientOf({ url: s.url }, s.account.key);
  assert.equal((await client.environments.get({ params: { id: s.id } })).environment.state, 'running');
});
