import assert from 'node:assert/strict';
import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { createHash } from 'node:crypto';
import { http, until } from '../apps/server/src/testing.ts';
import {
  freePort,
  fromSource,
  killAll,
  makeRealClusters,
  noSandboxes,
  type Platform,
  run,
  startPlatform,
  temporaryFolder,
} from './platform.ts';

const which = (name: string): string =>
  spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
/** The Node.js of the machine, which is older than the pinned one. */
const node = which('node');
const skip =
  process.getuid?.() !== 0 || which('bwrap') === '' ? 'a machine of its own needs root and bubblewrap here' : false;

/** A machine with files of its own: Node.js, a shell, what these two are linked to, and nothing else. */
class Machine {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
    for (const name of ['proc', 'dev', 'tmp', 'root', 'etc', 'run', 'bin', 'usr/bin', 'usr/local/bin']) {
      mkdirSync(join(root, name), { recursive: true });
    }
    writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
    this.#bring(node, '/usr/local/bin/node');
    this.#bring('/bin/sh', '/bin/sh');
  }

  #bring(from: string, to: string): void {
    const linked = execFileSync('ldd', [from], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g);
    for (const [path, at] of [[from, to], ...[...linked].map(([, file = '']) => [file, file])] as [string, string][]) {
      mkdirSync(dirname(join(this.root, at)), { recursive: true });
      copyFileSync(path, join(this.root, at));
    }
  }

  /** A program of the machine, as a script. */
  script(path: string, lines: string): void {
    writeFileSync(join(this.root, path), `#!/bin/sh\n${lines}\n`);
    chmodSync(join(this.root, path), 0o755);
  }

  start(line: string, options: SpawnOptions = {}) {
    const own = ['--bind', this.root, '/', '--proc', '/proc', '--dev', '/dev', '--unshare-pid', '--die-with-parent'];
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/root' };
    return spawn('bwrap', [...own, '--chdir', '/root', '/bin/sh', '-c', line], { ...options, env });
  }

  /** Runs a line to its end. */
  async run(line: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = this.start(line, { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const [stdout, stderr] = await Promise.all([textOf(child.stdout as never), textOf(child.stderr as never)]);
    return { code: await ended, stdout, stderr };
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }
}

makeRealClusters();

describe('the host daemon on a machine that has only Node.js', { skip }, () => {
  const folder = temporaryFolder();
  let p: Platform;
  before(async () => {
    p = await startPlatform(join(folder.path, 'data'), await freePort(), { ...noSandboxes, ...fromSource });
  });
  after(async () => {
    await p?.end();
    killAll();
    await folder.remove();
  });

  const call = (method: string, path: string, body?: unknown) =>
    http(p.url, path, { method, key: p.key, ...(body !== undefined && { body }) });
  const machine = (name: string): Machine => new Machine(join(folder.path, name));
  const invite = async (...words: string[]): Promise<string> => {
    const { stdout } = await run(['host', 'invite', '--url', p.url, ...words], { SVC_API_KEY: p.key });
    return stdout.trim();
  };

  test('the gateway serves it with its hash, to anybody', async () => {
    const program = await (await fetch(`${p.url}/install/host.mjs`)).text();
    const said = await (await fetch(`${p.url}/install/host.mjs.sha256`)).text();
    assert.equal(said, `${createHash('sha256').update(program).digest('hex')}  host.mjs\n`);
    assert.ok(!program.includes(import.meta.dirname), 'no path of the machine that built it');
  });

  test('one line installs it and gives it a key of its own; it serves, and a second use of the code is refused', async () => {
    const box = machine('plain');
    const { project } = (await call('POST', '/v1/projects', { name: 'Shop' })).body;
    const made = { project_id: project.id, provider: 'byo', name: 'Box' };
    const { id, slug } = (await call('POST', '/v1/environments', made)).body.environment;
    const line = await invite('--name', 'plain', '--environment', slug, '--allow-shell');
    const installed = await box.run(line);
    assert.equal(installed.code, 0, installed.stderr);
    assert.match(installed.stderr, /no systemd runs here/);
    const key = box.read('etc/svc-host/key').trim();
    assert.match(key, /^svc_[0-9A-Za-z]{38}$/);
    assert.equal(statSync(join(box.root, 'etc/svc-host/key')).mode & 0o777, 0o600);
    assert.equal((await http(p.url, '/v1/keys', { key })).status, 403);
    const daemon = box.start(`exec ${installed.stdout.trim()}`, {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const over = new Promise((resolve) => daemon.once('exit', resolve));
    try {
      await until(async () => (await call('GET', '/v1/hosts')).body.hosts.length === 1);
      const { stdout, stderr } = await run(['host', 'exec', '--url', p.url, 'plain', '--', 'echo from the box'], {
        SVC_API_KEY: p.key,
      });
      assert.equal(stdout, 'from the box\n', stderr);
      await until(async () => (await call('GET', `/relay/v1/environments/${id}/status`)).body.online);
    } finally {
      daemon.kill();
      await over;
    }
    const again = await machine('second').run(line);
    assert.notEqual(again.code, 0);
    assert.match(again.stderr, /this token was used, replaced, is over 30 minutes old, or is none/);
  });

  test('a program other than the one that was promised is not run', async () => {
    const line = (await invite()).replace(/!=='[0-9a-f]{64}'/, `!=='${'0'.repeat(64)}'`);
    const box = machine('cheated');
    const { code, stderr } = await box.run(line);
    assert.notEqual(code, 0);
    assert.match(stderr, /not the program that was promised/);
    assert.throws(() => box.read('root/svc-host.mjs'), { code: 'ENOENT' });
  });

  test('where systemd runs it is a unit that starts with the machine, until it is uninstalled', async () => {
    const box = machine('systemd');
    mkdirSync(join(box.root, 'run/systemd/system'), { recursive: true });
    box.script('usr/bin/systemctl', 'echo "$*" >> /root/asked');
    const installed = await box.run(`${await invite('--name', 'unit')} --roots /root --tags a,b`);
    assert.equal(installed.code, 0, installed.stderr);
    assert.match(
      installed.stderr,
      /commands of your other devices are refused on this machine.*install .*--allow-shell\n$/,
    );
    assert.match(box.read('etc/svc-host/host.json'), /"shell": "ask"/);
    assert.deepEqual(box.read('root/asked').trim().split('\n'), [
      'daemon-reload',
      'enable svc-host.service',
      'restart svc-host.service',
    ]);
    const unit = box.read('etc/systemd/system/svc-host.service');
    assert.match(unit, /^WantedBy=multi-user\.target$/m);
    assert.match(unit, /^ExecStart=.*"run" .*"--roots" "\/root" "--tags" "a,b"$/m);
    assert.ok(!unit.includes(box.read('etc/svc-host/key').trim()));
    if (which('systemd-analyze') !== '') {
      const file = join(folder.path, 'svc-host.service');
      writeFileSync(file, unit.replace(/^ExecStart="[^"]*"/m, 'ExecStart="/bin/true"'));
      execFileSync('systemd-analyze', ['verify', '--man=no', file], { stdio: 'pipe' });
    }
    const allowing = await box.run(/allow them: (.*)$/m.exec(installed.stderr)?.[1] ?? '');
    assert.doesNotMatch(allowing.stderr, /refused/);
    assert.match(box.read('etc/svc-host/host.json'), /"shell": "allow"/);
    assert.equal(box.read('etc/systemd/system/svc-host.service'), unit);
    // As pages and alerts tell it, word for word.
    const asked = await box.run('svc host approve');
    assert.match(asked.stderr, /no schedule asks for an approval/);
    const gone = await box.run('svc host uninstall');
    assert.equal(gone.code, 0, gone.stderr);
    for (const path of [
      'etc/systemd/system/svc-host.service',
      'usr/local/lib/svc-host',
      'usr/local/bin/svc',
      'etc/svc-host/key',
    ]) {
      assert.throws(() => box.read(path), { code: 'ENOENT' });
    }
    assert.match(box.read('root/asked'), /disable --now svc-host\.service/);
  });

  test('a code of a key that was revoked since is refused; codes are bounded', async () => {
    const { body } = await call('POST', '/v1/keys', { name: 'inviter' });
    const { code } = (await http(p.url, '/v1/hosts/invites', { key: body.key, body: {} })).body;
    await call('DELETE', `/v1/keys/${body.id}`);
    const redeem = (text: string) =>
      http(p.url, '/v1/hosts/invites/redeem', {
        body: { code: text, device: { id: '2f7d6f1e-4a51-4a3a-9d41-0d5c3a4ef001', name: 'x' } },
      });
    assert.equal((await redeem(code)).status, 403);
    assert.equal((await redeem('nothing')).status, 403);
    const statuses = [];
    for (let i = 0; i < 25; i += 1) statuses.push((await call('POST', '/v1/hosts/invites', {})).status);
    assert.equal(statuses.at(-1), 429);
    assert.ok(statuses.filter((status) => status === 201).length <= 20);
  });
});
