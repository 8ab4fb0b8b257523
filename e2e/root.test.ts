import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { packageRoot } from '../apps/server/src/postgres/datadir.ts';
import { isAlive } from '../apps/server/src/postgres/lock.ts';
import { http, until } from '../apps/server/src/testing.ts';
import {
  freePort,
  killAll,
  noSandboxes,
  type Platform,
  run,
  start,
  startPlatform,
  temporaryFolder,
  usedDataDir,
} from './platform.ts';
import { ownSandboxes, withoutSandboxes } from './sandboxes.ts';

const notRoot = process.platform === 'linux' && process.getuid?.() === 0 ? false : 'only root can become another user';
/** Mounts of its own and another user: what a machine, and most containers, let root do. */
const cannotMount = notRoot || (spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'no mounts here');

/** Fields of `/proc/<pid>/status`. */
function statusOf(pid: number): Record<string, string> {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
}

/** Children of a process that run a program with `name` in its words. */
function childrenOf(pid: number, name: string): number[] {
  const ids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  return ids.filter((id) => readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(name));
}

/** The process is the platform's user for good, with one right of root: to listen below port 1024. */
function assertUnprivileged(pid: number): void {
  const { Uid = '', Gid = '', Groups = '', CapEff, CapPrm, CapBnd, NoNewPrivs } = statusOf(pid);
  const [uid, gid] = [Uid, Gid].map((ids) => new Set(ids.split('\t')));
  assert.deepEqual([uid?.size, gid?.size], [1, 1], `${Uid} ${Gid}`);
  assert.ok(!uid?.has('0') && !gid?.has('0') && !Groups.split(' ').includes('0'), `${Uid} ${Gid} ${Groups}`);
  const bindsLowPorts = '0000000000000400';
  assert.deepEqual([CapEff, CapPrm, CapBnd, NoNewPrivs], [bindsLowPorts, bindsLowPorts, bindsLowPorts, '1']);
}

async function keysOf({ url, dataDir }: Platform): Promise<number> {
  const key = readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
  return (await http(url, '/v1/keys', { key })).status;
}

/** On a port below 1024, where one is free. */
describe('a platform of root', { skip: notRoot }, () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const low = 843;
  let isLow: boolean;
  let platform: Platform;
  before(async () => {
    // As from /root: what the platform starts and builds begins somewhere else.
    const cwd = join(folder.path, 'closed');
    mkdirSync(cwd, { mode: 0o700 });
    isLow = spawnSync('bash', ['-c', `exec 3<>/dev/tcp/127.0.0.1/${low}`], { stdio: 'ignore' }).status !== 0;
    const settings = { ...noSandboxes, SVC_METRICS_PORT: '0' };
    platform = await startPlatform(dataDir, isLow ? low : await freePort(), settings, { cwd });
  });
  after(async () => {
    killAll();
    await folder.remove();
  });

  test('has a gateway and a worker that are not root', async () => {
    assert.equal((await fetch(`${platform.url}/install/sdk.tgz`)).status, 200);
    assertUnprivileged(platform.process.pid as number);
    const port = await freePort();
    const words = ['up', '--only', 'worker', '--data-dir', dataDir, '--metrics-port', String(port)];
    const worker = start(words);
    await worker.printed(/svc worker runs/);
    assertUnprivileged(worker.process.pid as number);
    const { stdout } = await run(['doctor', '--json'], { ...noSandboxes, SVC_DATA_DIR: dataDir });
    const users = JSON.parse(stdout).checks.filter(({ name }: { name: string }) => name === 'user');
    assert.deepEqual(users, [{ name: 'user', ok: true, found: 'gateway and worker are not root' }]);
    assert.equal(await worker.end(), 0);
  });

  test('listens on a port below 1024', async (t) => {
    if (!isLow) return t.skip(`port ${low} is in use`);
    assert.equal(new URL(platform.url).port, String(low));
    assert.equal(await keysOf(platform), 200);
    return undefined;
  });

  test('reads the key of a lane that root adds while it runs, from a file that only root can read', async () => {
    const secret = join(folder.path, 'lane.key');
    writeFileSync(secret, 'sk-added-by-root\n', { mode: 0o600 });
    const asked = new Set<string | undefined>();
    const provider = createServer((request, response) => {
      asked.add(request.headers.authorization);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'x' } }] }));
    }).listen(0, '127.0.0.1');
    const url = `http://127.0.0.1:${(await listening(provider)).port}/v1`;
    const words = ['providers', 'add', 'openai', '--id', 'a/b', '--url', url, '--key-file', secret, '--model', 'm'];
    const added = await run(words, { ...noSandboxes, SVC_DATA_DIR: dataDir });
    assert.deepEqual([added.code, /copied to .*cannot read it/.test(added.stdout)], [0, true], added.stderr);
    const of = (name: string) => [
      lstatSync(join(dataDir, name)).uid === 0,
      lstatSync(join(dataDir, name)).mode & 0o777,
    ];
    assert.deepEqual(
      [of('providers.json'), of('lane-a%2Fb.key')],
      [
        [true, 0o640],
        [false, 0o600],
      ],
    );
    asked.clear();
    const key = readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
    const body = { model: 'svc', messages: [{ role: 'user', content: 'hello' }] };
    await until(async () => {
      await http(platform.url, '/v1/chat/completions', { key, body });
      return asked.has('Bearer sk-added-by-root');
    });
    provider.close();
  });

  test('ends when the process that stays root does', async () => {
    const [helper = 0] = childrenOf(platform.process.pid as number, 'root.helper.mjs');
    assert.ok(helper > 0, 'a signal to 0 would be for the tests themselves');
    process.kill(helper, 'SIGKILL');
    const [code] = (await once(platform.process, 'exit')) as [number];
    assert.equal(code, 1);
  });
});

describe('a platform that is started as root', { skip: notRoot }, () => {
  const used = usedDataDir();
  after(async () => {
    killAll();
    await used[Symbol.asyncDispose]();
  });

  test('keeps its node agent root, and one that is killed takes everything with it', {
    skip: withoutSandboxes,
  }, async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const platform = await startPlatform(dataDir, await freePort(), ownSandboxes);
    const pid = platform.process.pid as number;
    assertUnprivileged(pid);
    const [helper = 0] = childrenOf(pid, 'root.helper.mjs');
    await until(() => childrenOf(helper, 'sandboxd').length > 0);
    const [node = 0] = childrenOf(helper, 'sandboxd');
    for (const each of [helper, node]) assert.match(statusOf(each)['Uid'] ?? '', /^0\t/);
    // Nobody but root may put another folder in its place.
    assert.deepEqual([lstatSync(dataDir).uid, lstatSync(dataDir).mode & 0o1777], [0, 0o1771]);
    assert.deepEqual(
      [lstatSync(join(dataDir, 'sandboxd')).uid, lstatSync(join(dataDir, 'sandboxd')).mode & 0o777],
      [0, 0o710],
    );
    const key = readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
    // It answers, by a socket in a folder of root.
    await until(async () => {
      const body = { shell: 'id -u' };
      return (await http(platform.url, '/v1/sandboxes/run', { key, body })).status === 200;
    });
    process.kill(node, 'SIGKILL');
    await until(() => childrenOf(helper, 'sandboxd').some((other) => other !== node));
    const [second = 0] = childrenOf(helper, 'sandboxd');
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(helper) && !isAlive(second));
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => name.startsWith('helper')),
      [],
    );
  });

  test('goes on with a data dir of a version that stayed root, key files included, and gives away nothing that lies beside a database that the operator moved', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    await used.lay(dataDir);
    // As that version left it.
    const names = readdirSync(dataDir).filter((name) => !['postgres', 'run'].includes(name));
    mkdirSync(join(dataDir, 'blobs'), { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir, 'blobs/one'), '1', { mode: 0o600 });
    execFileSync('chown', ['-R', 'root:root', dataDir, ...['blobs', ...names].map((name) => join(dataDir, name))]);
    execFileSync('chown', ['-R', 'svc:svc', join(dataDir, 'postgres'), join(dataDir, 'run')]);
    chmodSync(dataDir, 0o711);
    const disk = join(folder.path, 'disk');
    mkdirSync(join(disk, 'other'), { recursive: true, mode: 0o755 });
    writeFileSync(join(disk, 'other/file'), 'of root', { mode: 0o600 });
    execFileSync('mv', [join(dataDir, 'postgres'), join(disk, 'pg')]);
    symlinkSync(join(disk, 'pg'), join(dataDir, 'postgres'));
    const secret = join(folder.path, 'lane.key');
    writeFileSync(secret, 'sk-only-root-reads-this\n', { mode: 0o600 });
    const asked: (string | undefined)[] = [];
    const provider = createServer((request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(500).end();
    }).listen(0, '127.0.0.1');
    const lane = {
      id: 'one',
      kind: 'openai',
      base_url: `http://127.0.0.1:${(await listening(provider)).port}/v1`,
      api_key_file: secret,
      models: ['m'],
    };
    writeFileSync(join(dataDir, 'providers.json'), JSON.stringify({ lanes: [lane], aliases: { svc: ['one'] } }), {
      mode: 0o600,
    });
    const platform = await startPlatform(dataDir, await freePort());
    assertUnprivileged(platform.process.pid as number);
    assert.equal(await keysOf(platform), 200);
    const key = readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
    const body = { model: 'svc', messages: [{ role: 'user', content: 'hello' }] };
    await http(platform.url, '/v1/chat/completions', { key, body });
    assert.ok(asked.includes('Bearer sk-only-root-reads-this'), JSON.stringify(asked));
    assert.doesNotMatch(readFileSync(`/proc/${platform.process.pid}/cmdline`, 'utf8'), /sk-only/);
    assert.notEqual(lstatSync(join(dataDir, 'blobs/one')).uid, 0);
    await platform.end();
    provider.close();
    for (const path of [disk, join(disk, 'other'), join(disk, 'other/file')])
      assert.equal(lstatSync(path).uid, 0, path);
  });

  test('believes no link that the platform’s user put in the place of its database', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    await used.lay(dataDir);
    const target = join(folder.path, 'of-root');
    mkdirSync(join(target, 'postgres'), { recursive: true, mode: 0o700 });
    chmodSync(target, 0o700);
    const { uid, gid } = lstatSync(join(dataDir, 'postgres'));
    const plant = `mv "$0/postgres" "$0/kept" && ln -s "$1/postgres" "$0/postgres"`;
    execFileSync('sh', ['-c', plant, dataDir, target], { uid, gid });
    const { code, stderr } = await run(['up', '--port', '0', '--data-dir', dataDir], noSandboxes);
    assert.deepEqual([code, /is a link that root did not make/.test(stderr)], [1, true], stderr);
    for (const path of [target, join(target, 'postgres')]) {
      assert.deepEqual([lstatSync(path).uid, lstatSync(path).mode & 0o777], [0, 0o700], path);
    }
    assert.deepEqual(readdirSync(target), ['postgres']);
  });

  test('has its database started by a command of root as its own user, who owns what that leaves; does nothing that this user wrote for root to find, and never stays root for it', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    await used.lay(dataDir);
    rmSync(join(dataDir, 'postgres.log'));
    const { code, stderr } = await run(['accounts', 'list'], { ...noSandboxes, SVC_DATA_DIR: dataDir });
    assert.equal(code, 0, stderr);
    assert.notEqual(lstatSync(join(dataDir, 'postgres.log')).uid, 0);

    const secret = join(folder.path, 'of-root');
    writeFileSync(secret, 'only root reads this\n', { mode: 0o600 });
    const { uid, gid } = lstatSync(join(dataDir, 'master.key'));
    const plant = (script: string) => execFileSync('sh', ['-c', script, dataDir, secret], { uid, gid, cwd: dataDir });

    // A file that providers name, and links in the place of what root writes.
    const providers = JSON.stringify({
      lanes: [{ id: 'x', kind: 'openai', api_key_file: secret, models: ['m'] }],
    });
    plant(`echo '${providers}' >providers.json; ln -s "$1" running.json.new; mkdir images.dir`);
    const platform = await startPlatform(dataDir, await freePort());
    assertUnprivileged(platform.process.pid as number);
    const shown = readFileSync(`/proc/${platform.process.pid}/environ`, 'latin1');
    assert.ok(!shown.includes('HANDED') || !shown.includes(Buffer.from('only root').toString('base64').slice(0, 8)));
    assert.match(platform.output(), /EACCES/, 'the lane is off: its key may not be read');
    await platform.end();
    assert.equal(readFileSync(secret, 'utf8'), 'only root reads this\n');

    plant(`echo SVC_SANDBOX_IMAGES=/tmp/evil >settings.env`);
    const refused = await run(['up', '--port', '0', '--data-dir', dataDir], noSandboxes);
    assert.deepEqual([refused.code, /settings\.env is not root's/.test(refused.stderr)], [1, true], refused.stderr);
    assert.throws(
      () => plant('rm -rf sandboxd || exit 1; mv sandboxd other'),
      'the name of the node’s folder is root’s',
    );
  });

  test('runs nothing that the platform’s user wrote into a providers file, and makes no such file root’s', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    await used.lay(dataDir);
    const [file, ran] = [join(dataDir, 'providers.json'), join(folder.path, 'ran')];
    const lane = { id: 'e', kind: 'openai', base_url: 'http://127.0.0.1:9/v1', models: ['m'], free: true };
    const lanes = [{ ...lane, token_command: ['/bin/sh', '-c', `id > ${ran}; echo t`], token_s: 60 }];
    writeFileSync(file, JSON.stringify({ lanes, aliases: { svc: ['e'] } }));
    execFileSync('chown', ['svc:svc', file]);
    for (const words of [['check'], ['alias', 'svc-fast', 'e']]) {
      const { code, stderr } = await run(['providers', ...words], { ...noSandboxes, SVC_DATA_DIR: dataDir });
      assert.deepEqual([code > 0, /is not root's/.test(stderr)], [true, true], `${words.join(' ')}: ${stderr}`);
    }
    assert.deepEqual([lstatSync(file).uid > 0, existsSync(ran)], [true, false]);
    // A program that root names runs as it does for the platform.
    chmodSync(folder.path, 0o777);
    execFileSync('chown', ['root:root', file]);
    await run(['providers', 'check'], { ...noSandboxes, SVC_DATA_DIR: dataDir });
    assert.match(readFileSync(ran, 'utf8'), /\(svc\)/);
  });

  test('stays root on no data dir that another user wrote to, whatever that user makes fail', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    await used.lay(dataDir);
    // As a process that found its settings in order only the second time.
    const main = join(packageRoot, 'apps/server/src/main.ts');
    const env = { PATH: process.env['PATH'], ...noSandboxes, SVC_DATA_DIR: dataDir, SVC_PORT: '0' };
    const late = spawnSync(process.execPath, [main, 'up'], { env, encoding: 'utf8' });
    assert.deepEqual([late.status, /does not run as root/.test(late.stderr)], [1, true], late.stderr);
    assert.equal(lstatSync(dataDir).mode & 0o1777, 0o1771);
    const theirs = join(folder.path, 'theirs');
    mkdirSync(join(theirs, 'sandboxd'), { recursive: true });
    execFileSync('chown', ['-R', 'nobody', theirs]);
    const { code, stderr } = await run(['up', '--port', '0'], { ...noSandboxes, SVC_DATA_DIR: theirs });
    assert.deepEqual([code, /sandboxd is no folder of root/.test(stderr)], [1, true], stderr);
    assert.deepEqual(readdirSync(theirs), ['sandboxd']);
  });

  test('stays root on a data dir of its own where a machine lets nobody become another user, and says so', async () => {
    await using folder = temporaryFolder();
    const [dataDir, programs] = [join(folder.path, 'data'), join(folder.path, 'bin')];
    mkdirSync(programs);
    writeFileSync(join(programs, 'setpriv'), '#!/bin/sh\necho not here >&2\nexit 1\n', { mode: 0o755 });
    for (const round of ['new', 'known']) {
      const PATH = `${programs}:${process.env['PATH']}`;
      const platform = start(['up', '--port', String(await freePort()), '--data-dir', dataDir], {
        ...noSandboxes,
        PATH,
      });
      await platform.printed(/gateway and worker stay root.*not here[^]*svc is ready at/);
      assert.match(statusOf(platform.process.pid as number)['Uid'] ?? '', /^0\t/, round);
      assert.equal(await platform.end(), 0);
    }
  });

  test('takes a master key from a pipe', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const script = 'printf %s "$KEY" | "$0" up --port "$1" --data-dir "$2" --master-key-file /dev/stdin';
    const port = await freePort();
    const child = spawn('sh', ['-c', `${script} & wait`, join(packageRoot, 'svc'), String(port), dataDir], {
      env: { ...process.env, ...noSandboxes, KEY: 'a master key of the operator, from a pipe' },
      stdio: 'ignore',
      detached: true,
    });
    await until(
      async () => (await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined))?.status === 200,
    );
    assert.ok(!readdirSync(dataDir).includes('master.key'), 'none is made beside it');
    process.kill(-(child.pid as number), 'SIGTERM');
    await until(() => !readdirSync(dataDir).includes('running.json'));
  });

  test('prepares nothing for a command that only has the word up in it', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'up');
    for (const words of [
      ['status', '--data-dir', dataDir],
      ['--data-dir', dataDir, 'status'],
    ])
      await run(words, { ...noSandboxes });
    assert.deepEqual(readdirSync(folder.path), []);
  });
});

/** One copy, which builds its bundle once: at the second test it has moved. */
describe('a platform that root starts from another clone', { skip: cannotMount }, () => {
  const folder = temporaryFolder();
  const first = join(folder.path, "the owner's clone");
  after(async () => {
    killAll();
    await folder.remove();
  });

  test('does not start from a clone that a umask of 077 left to root alone, and says what mends it', async () => {
    const clone = copyOfClone(first);
    const dataDir = join(clone, '.svc');
    const words = ['up', '--port', String(await freePort()), '--data-dir', dataDir];
    const env = { PATH: process.env['PATH'], ...noSandboxes };
    const refusal = () => {
      const { status, stderr } = spawnSync(join(clone, 'svc'), words, { env, encoding: 'utf8' });
      assert.equal(status, 1, stderr);
      const [, path, advice = ''] = /the platform does not start.* cannot read (.*); as root: (.*)/.exec(stderr) ?? [];
      return { path, advice, stderr };
    };
    const secret = join(clone, 'apps/notes.txt');
    writeFileSync(secret, '');
    const keeper = join(clone, 'apps/server/src/backup/keeper.ts');
    for (const path of [secret, keeper]) chmodSync(path, 0o600);
    assert.equal(refusal().path, keeper);
    // As a clone, not a checkout, is left: its folder too.
    execFileSync('chmod', ['-R', 'go-rwx', clone]);
    const { path, advice, stderr } = refusal();
    assert.equal(path, clone, stderr);
    mkdirSync(dataDir, { recursive: true });
    const key = join(dataDir, 'key');
    writeFileSync(key, '', { mode: 0o600 });
    // Packages of a copy are links, which lead to those of this clone: they stay as they are.
    execFileSync('sh', ['-c', advice]);
    assert.equal(lstatSync(key).mode & 0o777, 0o600, 'what is in the data dir stays its own');
    rmSync(key);
    chmodSync(secret, 0o600);
    const platform = start(words, noSandboxes, join(clone, 'svc'));
    await platform.printed(/svc is ready at/);
    assertUnprivileged(platform.process.pid as number);
    assert.equal(await platform.end(), 0);
  });

  test('runs from a clone, on a data dir, in folders that others cannot enter, and sees nothing else there', async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'svc-home-'));
    assert.equal(lstatSync(home).mode & 0o077, 0);
    writeFileSync(join(home, 'private'), 'of root');
    const clone = join(home, 'clone');
    renameSync(first, clone);
    const dataDir = join(home, 'data');
    const port = String(await freePort());
    const words = ['up', '--port', port, '--data-dir', dataDir];
    const platform = start(words, noSandboxes, join(clone, 'svc'));
    const [, url = ''] = await platform.printed(/svc is ready at (\S+)/);
    const elsewhere = dirname(readlinkSync(join(dataDir, 'postgres')));
    t.after(() => {
      for (const path of [elsewhere, home]) rmSync(path, { recursive: true, force: true });
    });
    const pid = platform.process.pid as number;
    assertUnprivileged(pid);
    assert.equal(await keysOf({ ...platform, url, dataDir, port: 0, key: '' }), 200);
    // Its own code, of that clone: the bundle that its first start made.
    const bundles = join(clone, 'node_modules/.cache/bundles');
    const [bundle = ''] = readdirSync(bundles);
    assert.ok(readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(bundles, bundle, 'apps.server.src.main.mjs')));
    const seen = execFileSync('nsenter', ['-t', String(pid), '-m', 'ls', home], { encoding: 'utf8' });
    assert.deepEqual(seen.trim().split('\n'), ['clone', 'data']);
    assert.equal(await platform.end(), 0);
    assert.equal(lstatSync(home).mode & 0o077, 0);
    assert.ok(!readFileSync('/proc/mounts', 'utf8').includes(home), 'no mount is left on the machine');
    const listed = await run(['accounts', 'list', '--json'], { ...noSandboxes, SVC_DATA_DIR: dataDir });
    assert.equal(listed.code, 0, listed.stderr);
    // A command there is the platform's user too: it deletes nothing that a link of that user leads to.
    const [account] = JSON.parse(listed.stdout);
    const logs = join(dataDir, 'blobs/data/schedule-logs');
    mkdirSync(logs, { recursive: true });
    symlinkSync(dirname(join(home, 'private')), join(logs, account.account_id));
    execFileSync('chown', ['-hR', 'svc:svc', join(dataDir, 'blobs')]);
    const deleted = await run(['accounts', 'delete', '--email', account.email, '--yes', '--force'], {
      SVC_DATA_DIR: dataDir,
    });
    assert.match(deleted.stderr, /EACCES/);
    assert.deepEqual(readdirSync(home).sort(), ['clone', 'data', 'private']);
  });
});

/** A copy of this clone, on packages that are linked one by one: an installation there could not reach these. */
function copyOfClone(to: string): string {
  const modules = join(to, 'node_modules');
  mkdirSync(modules, { recursive: true });
  const names = ['svc', 'scripts', 'apps', 'packages', 'package.json', 'package-lock.json'];
  execFileSync('cp', ['-rp', ...names.map((name) => join(packageRoot, name)), to]);
  const installed = join(packageRoot, 'node_modules');
  for (const name of readdirSync(installed)) {
    if (!name.startsWith('.')) symlinkSync(join(installed, name), join(modules, name));
  }
  writeFileSync(join(modules, '.package-lock.json'), '');
  return to;
}

async function listening(server: ReturnType<typeof createServer>): Promise<AddressInfo> {
  await until(() => server.listening);
  return server.address() as AddressInfo;
}
