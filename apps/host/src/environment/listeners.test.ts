import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createListenerScan, parseLsof } from './listeners.ts';

const environment = { PATH: '/usr/local/bin:/usr/bin:/bin' };

/** A server of this process at a free port. */
async function listen(t: TestContext, host: string): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, host);
  t.after(() => server.close());
  await once(server, 'listening');
  return { server, port: (server.address() as { port: number }).port };
}

const linux = { skip: process.platform !== 'linux' && 'reads /proc' };

test('ports that listen are found with their process, and gone with it', linux, async (t) => {
  const scan = createListenerScan(environment);
  const script = `const s = require('net').createServer().listen(0, '127.0.0.1', () => console.log(s.address().port))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [said] = await once(child.stdout, 'data');
  const theirs = Number(String(said));
  const { server, port: ours } = await listen(t, '::1');
  const ports = async (port: number) => (await scan.look()).filter((one) => one.port === port);
  assert.deepEqual(
    (await ports(theirs)).map(({ pid }) => pid),
    [child.pid],
  );
  const [own] = await ports(ours);
  assert.equal(own?.pid, process.pid);
  assert.equal(typeof own?.process, 'string');
  child.kill('SIGKILL');
  await once(child, 'close');
  server.close();
  await once(server, 'close');
  assert.deepEqual([await ports(theirs), await ports(ours)], [[], []]);
});

test('a port that the tunnel cannot reach is left out', linux, async (t) => {
  const { port } = await listen(t, '127.0.0.2');
  const found = await createListenerScan(environment).look();
  assert.ok(found.every((one) => one.port !== port));
});

test('a process that may not be read leaves the port without one', {
  skip: (process.getuid?.() !== 0 || process.platform !== 'linux') && 'needs root, to become another user',
}, async (t) => {
  const { port } = await listen(t, '127.0.0.1');
  const script = `import { createListenerScan } from ${JSON.stringify(new URL('listeners.ts', import.meta.url).href)};
    process.setgid(65534);
    process.setuid(65534);
    console.log(JSON.stringify(await createListenerScan({}).look()));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  const found = (JSON.parse(stdout || stderr) as { port: number }[]).filter((one) => one.port === port);
  assert.deepEqual(found, [{ port, pid: null, process: null }]);
});

test('what lsof says is read: addresses that the tunnel reaches, each port once', () => {
  const sample = [
    'p512\ncControlCenter\nf9\nn*:7000\nf10\nn*:7000\nf11\nn*:5000',
    'p901\ncnode\nf22\nn[::1]:5173\nf23\nn127.0.0.1:9229',
    'p77\ncpostgres\nf5\nn192.168.1.7:5432\nf6\nn[fe80::1]:5432\n',
  ].join('\n');
  assert.deepEqual(parseLsof(sample), [
    { port: 5000, pid: 512, process: 'ControlCenter' },
    { port: 5173, pid: 901, process: 'node' },
    { port: 7000, pid: 512, process: 'ControlCenter' },
    { port: 9229, pid: 901, process: 'node' },
  ]);
});

test('lsof of this machine says what the parser reads', {
  skip: spawnSync('lsof', ['-v']).error !== undefined && 'needs lsof',
}, async (t) => {
  const { port } = await listen(t, '127.0.0.1');
  const args = ['-nP', '-a', '-p', String(process.pid), '-iTCP', '-sTCP:LISTEN', '-Fpcn'];
  const { stdout } = await new Promise<{ stdout: string }>((resolve) => {
    const child = spawn('lsof', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    child.once('close', () => resolve({ stdout: text }));
  });
  assert.ok(parseLsof(stdout).some((one) => one.port === port && one.pid === process.pid));
});
