import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory, until } from '../apps/host/src/testing.ts';
import { freePort, sharedMachine } from './environments.testing.ts';

const { usable } = sharedMachine();

const run = promisify(execFile);
const sshServer = '/usr/sbin/sshd';

function isThere(program: string): boolean {
  try {
    execFileSync('test', ['-x', program]);
    return true;
  } catch {
    return false;
  }
}

/** A ssh server of a test on loopback, which lets in the key of the test alone. */
async function startSshServer(context: TestContext, directory: string): Promise<number> {
  const port = await freePort();
  for (const name of ['host', 'client'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]);
  await mkdir('/run/sshd', { recursive: true });
  await chmod(join(directory, 'client.pub'), 0o600);
  const options = [
    'UsePAM=no',
    'StrictModes=no',
    `AuthorizedKeysFile=${join(directory, 'client.pub')}`,
    'PidFile=none',
  ];
  const words = ['-D', '-e', '-f', '/dev/null', '-h', join(directory, 'host'), '-p', String(port)];
  const server = spawn(sshServer, [...words, ...options.flatMap((one) => ['-o', one])], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  context.after(() => server.kill('SIGKILL'));
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(() => said.includes('listening on'), `sshd listens: ${said}`);
  return port;
}

test('ssh reaches a machine by what ssh-config prints', async (context) => {
  if (process.getuid?.() !== 0 || !isThere(sshServer)) return context.skip('needs root and a ssh server');
  const s = await usable(context);
  const directory = await temporaryDirectory(context);
  const odd = join(directory, "it's 100% a directory");
  await mkdir(odd);
  const port = await startSshServer(context, directory);
  const keyFile = join(odd, 'svc.key');
  await writeFile(keyFile, s.account.key, { mode: 0o600 });
  const printed = s.env('ssh-config', s.slug, '--port', String(port), '--key-file', keyFile);
  assert.equal(await printed.ended, 0, printed.stderr());
  assert.ok(!(printed.stdout() + printed.stderr()).includes(s.account.key));
  const config = join(directory, 'config');
  await writeFile(config, printed.stdout());
  const read = execFileSync('ssh', ['-G', '-F', config, `svc-${s.slug}`]).toString();
  assert.match(read, new RegExp(`^hostkeyalias svc-${s.id}$`, 'm'));
  const plain = execFileSync('ssh', ['-G', '-F', config, s.slug]).toString();
  assert.doesNotMatch(plain, /^(hostkeyalias|proxycommand) /m);
  const known = ['-o', `UserKnownHostsFile=${join(directory, 'known')}`, '-o', 'GlobalKnownHostsFile=/dev/null'];
  const modes = ['-o', 'StrictHostKeyChecking=accept-new', '-o', 'BatchMode=yes'];
  const common = ['-F', config, '-i', join(directory, 'client'), ...known, ...modes];
  const env = { PATH: process.env['PATH'] ?? '', HOME: directory };
  const asked = await run('ssh', [...common, `svc-${s.slug}`, 'echo there-$((40+2))'], { env });
  assert.equal(asked.stdout, 'there-42\n');
  const bytes = Buffer.alloc(8 * 1024 * 1024, 'ab');

  const child = spawn('ssh', [...common, `svc-${s.slug}`, 'sha256sum'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(bytes);
  const [sum] = (await once(child.stdout, 'data')) as [Buffer];
  assert.equal(sum.toString(), execFileSync('sha256sum', { input: bytes }).toString());
});

test('open prints an address that a browser can open once, and a table of ports', async (context) => {
  const s = await usable(context, {});
  const page = createServer((_request, response) => void response.end('hello')).listen(0, '127.0.0.1');
  context.after(() => page.close());
  await once(page, 'listening');
  const { port } = page.address() as AddressInfo;
  await s.call('PUT', `/ports/${port}`, { visibility: 'owner', label: 'Shop' });
  const opened = s.env('open', s.slug, String(port));
  assert.equal(await opened.ended, 0, opened.stderr());
  assert.match(opened.stdout(), new RegExp(`^http://${port}--${s.slug}\\.localhost:\\d+/\\?svc_ticket=\\S+\n$`));
  const table = s.env('open', s.id);
  assert.equal(await table.ended, 0, table.stderr());
  assert.match(table.stdout(), new RegExp(`${port} +owner +Shop +svc env open ${s.slug} ${port}`));
  const other = s.env('open', s.slug, '1');
  assert.equal(await other.ended, 1);
  assert.match(other.stderr(), /^svc: .+:1: 404 not_found: /);
});
