import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import {
  freePort,
  killAll,
  layCluster,
  makeRealClusters,
  noSandboxes,
  type Platform,
  run,
  runHere,
  runOnTerminal,
  start,
  startPlatform,
  temporaryFolder,
} from './platform.ts';
import { until } from '../apps/server/src/testing.ts';
import { ownSandboxes } from './sandboxes.ts';

/** On every address of the machine, for an owner with an address. */
describe('a platform that is started on a terminal', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  let port: number;
  let text = '';
  let terminal: ChildProcess;
  before(async () => {
    port = await freePort();
    layCluster(dataDir);
    const svc = join(import.meta.dirname, '../svc');
    const up = `${svc} up --host 0.0.0.0 --port ${port} --data-dir ${dataDir}`;
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME, ...noSandboxes, SVC_OWNER_EMAIL: 'me@example.com', SVC_PROT: '1' };
    // `script` gives it a terminal.
    terminal = spawn('script', ['-qec', up, '/dev/null'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    terminal.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await until(() => /curl -H/.test(text));
  });
  after(async () => {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'running.json'), 'utf8'));
    const closed = once(terminal, 'close');
    process.kill(pid, 'SIGTERM');
    await closed;
    await folder.remove();
  });

  test('shows the key at its first start, and writes it nowhere', () => {
    assert.match(text, /Your API key, shown once:\r\n {2}svc_\w{38}\r\n/);
    assert.doesNotMatch(text, /\{"level"/, 'the log is for people too');
    assert.match(text, /\[\d\d:\d\d:\d\d\].*WARN.*SVC_PROT is no setting/);
    assert.equal(existsSync(join(dataDir, 'owner.key')), false);
  });

  test('on a network address it says where other machines reach it', () => {
    assert.match(text, /links in answers say http:\/\/localhost:\d+, .* set SVC_BASE_URL/);
    assert.match(text, /from other machines: (?:http:\/\/[\d.]+:\d+|none found)/);
  });

  test('who lost the key gets another: the only account needs no naming, and has the address it was given', async () => {
    const { stdout } = await run(['accounts', 'show', '--json', '--data-dir', dataDir], noSandboxes);
    assert.equal(JSON.parse(stdout).email, 'me@example.com');
    const asked = (...line: string[]) => runHere(dataDir, ...line);
    const { key: another } = await asked('keys', 'create', '--name', 'found again');
    await createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: another }).devices.list();
    assert.equal((await asked('accounts', 'set', '--new-email', 'new@example.com')).email, 'new@example.com');
    assert.deepEqual(
      (await asked('accounts', 'list')).map(({ email }: { email: string }) => email),
      ['new@example.com'],
    );
    assert.equal((await asked('wallet', 'show')).email, 'new@example.com');
    assert.equal((await asked('keys', 'list')).length, 2);
  });
});

describe('the platform as a person runs it', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const hostDir = join(folder.path, 'host');
  let platform: Platform;
  let key: string;

  before(async () => {
    const layClusters = makeRealClusters();
    platform = await startPlatform(dataDir, await freePort(), { ...ownSandboxes, SVC_PROT: '1' });
    layClusters();
    key = platform.key;
  });
  after(async () => {
    await platform.end();
    killAll();
    await folder.remove();
  });

  const client = () => createClient({ baseUrl: platform.url, apiKey: key });
  const hostEnvironment = () => ({ SVC_API_KEY: key, SVC_BASE_URL: platform.url });
  const svc = (...line: string[]) => runHere(dataDir, ...line);

  test('a first start without a terminal keeps the key in a file of its owner, and prints a curl line that works', async () => {
    const line = /^ {2}(curl .*)$/m.exec(platform.output())?.[1] ?? assert.fail(platform.output());
    const answer = JSON.parse(execFileSync('sh', ['-c', `${line} -s`], { encoding: 'utf8' }));
    assert.equal(answer.keys.length, 1);
    assert.ok(!readFileSync(join(dataDir, 'postgres.log'), 'utf8').includes(key));
    assert.ok(key.length > 0 && !platform.output().includes(key), 'a journal has it not');
    assert.equal(statSync(join(dataDir, 'owner.key')).mode & 0o777, 0o600);
  });

  test('generated secrets are readable by their owner alone', () => {
    assert.equal(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600);
  });

  async function usageCount(): Promise<number> {
    const { openDatabase } = await import('../apps/server/src/kernel/db/db.ts');
    const { findRunning } = await import('../apps/server/src/postgres/embedded.ts');
    const embedded = findRunning(dataDir) ?? assert.fail('the database does not run');
    const sql = openDatabase({ embedded, database: 'svc' }, 1);
    const [row] = await sql<{ count: number }[]>`select count(*) from kernel.usage_records`;
    await sql.end();
    return row?.count ?? 0;
  }

  test('admin commands work while the platform runs and take effect on the next request', async () => {
    const created = await svc('accounts', 'create', '--email', 'a@b.c', '--name', 'Ana');
    assert.equal(created.email, 'a@b.c');
    const { id, key: text } = await svc(
      'keys',
      'create',
      '--email',
      'a@b.c',
      '--name',
      'k',
      '--scopes',
      'devices:read',
      '--expires-in',
      '1h',
    );
    const theirs = createClient({ baseUrl: platform.url, apiKey: text });
    await theirs.devices.list();
    await assert.rejects(theirs.keys.list(), { status: 403, code: 'forbidden' });
    await svc('keys', 'pause', id);
    await assert.rejects(theirs.devices.list(), { status: 401 });
    await svc('keys', 'resume', id);
    await theirs.devices.list();
    await svc('accounts', 'set', '--email', 'A@B.C', '--subscription', 'inactive', '--feature', 'transcripts=off');
    await assert.rejects(theirs.devices.list(), { status: 402, code: 'subscription_inactive' });
    const set = await svc('accounts', 'set', '--email', 'a@b.c', '--subscription', 'active', '--tool-level', 'l2');
    assert.deepEqual([set.features, set.tool_level], [{ transcripts: false }, 'l2']);
    await theirs.devices.list();
    await svc('keys', 'revoke', text.slice(0, 8));
    await assert.rejects(theirs.devices.list(), { status: 401, code: 'invalid_api_key' });
    assert.equal((await svc('keys', 'list', '--email', 'a@b.c'))[0].status, 'revoked');
  });

  test('an account is deleted once that was asked; a deletion that is killed is in force, and goes on when it is called again', async () => {
    const place = ['--data-dir', dataDir];
    const make = async (email: string) => {
      await svc('accounts', 'create', '--email', email);
      return createClient({ baseUrl: platform.url, apiKey: (await svc('keys', 'create', '--email', email)).key });
    };
    const asked = await make('asked@b.c');
    const remove = ['accounts', 'delete', '--email', 'asked@b.c', ...place];
    await asked.keys.list();
    const { code, screen } = await runOnTerminal(remove);
    assert.equal(code, 0, screen);
    assert.match(screen, /Delete the account of asked@b\.c/);
    await assert.rejects(asked.keys.list(), { status: 401 });

    let [email, killed] = ['', asked];
    for (let round = 0, ended: unknown; ended !== 'SIGKILL'; round += 1) {
      email = `killed${round}@b.c`;
      killed = await make(email);
      await killed.keys.list();
      const first = start(['accounts', 'delete', '--email', email, '--yes', ...place]);
      await until(() =>
        killed.keys.list().then(
          () => false,
          () => true,
        ),
      );
      // On a busy machine it may be over by now.
      ended = await first.end('SIGKILL');
    }
    await assert.rejects(svc('accounts', 'resume', '--email', email), /being deleted/);
    assert.equal((await svc('accounts', 'delete', '--email', email))['accounts.accounts'], 1);
    await assert.rejects(killed.keys.list(), { status: 401 });
    const acts = await svc('audit', '--action', 'accounts.delete', '--limit', '2');
    assert.deepEqual(
      acts.map(({ by, details }: { by: string; details: { state: string } }) => [by, details.state]),
      [
        ['cli', 'done'],
        ['cli', 'begun'],
      ],
    );
  });

  test('organisations and wallets are kept by commands', async () => {
    await svc('accounts', 'create', '--email', 'o@b.c');
    const org = await svc('orgs', 'create', '--name', 'Org', '--owner', 'o@b.c');
    await svc('orgs', 'add', '--org', org.org_id, '--email', 'a@b.c', '--role', 'admin');
    await assert.rejects(
      svc('orgs', 'add', '--org', org.org_id, '--email', 'o@b.c', '--role', 'member'),
      /needs an owner/,
    );
    await svc('wallet', 'credit', '--email', 'o@b.c', '--micro-eur', '5000000', '--source-key', 'once');
    await svc('wallet', 'credit', '--email', 'o@b.c', '--micro-eur', '5000000', '--source-key', 'once');
    assert.equal((await svc('wallet', 'show', '--email', 'o@b.c')).balance_micro_eur, 5_000_000);
  });

  test('a command that fails says why in one line and exits non-zero', async () => {
    for (const [line, message] of [
      ['accounts set --email x@y.z', /no account/],
      ['keys create --email a@b.c --scopes a/b', /must be/],
      ['keys revoke nonsense', /neither/],
      ['wallet credit --email a@b.c --micro-eur 1.5', /integer/],
    ] as const) {
      await assert.rejects(svc(...line.split(' ')), (error: Error) => {
        assert.match(error.message, message);
        return !error.message.includes('\n');
      });
    }
    const faults: [string[], RegExp][] = [
      [['accounts', 'create', '--email', 'a@b.c'], /exists/],
      [['accounts', 'create', '--email', 'nonsense'], /no e-mail address/],
      [['nonsense'], /unknown command/],
    ];
    for (const [args, message] of faults) {
      const { code, stderr } = await run([...args, '--data-dir', dataDir]);
      assert.ok(code > 0, args.join(' '));
      assert.match(stderr, message);
      assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    }
  });

  test('without a command it helps, in one screen of groups with examples; a version is printed', async () => {
    const [bare, help] = [await run([]), await run(['--help'])];
    assert.deepEqual([bare.code, bare.stdout, bare.stderr], [0, help.stdout, '']);
    for (const part of ['Run it:', 'People and keys:', 'Machines and sandboxes:', 'Examples:', 'svc settings']) {
      assert.ok(help.stdout.includes(part), part);
    }
    assert.ok(help.stdout.trimEnd().split('\n').length < 50, 'the settings are elsewhere');
    assert.doesNotMatch(help.stdout, /SVC_RATE|--rate/);
    const settings = await run(['settings']);
    assert.match(settings.stdout, /^SVC_PORT +--port +8787 +port/m);
    const group = await run(['keys']);
    assert.deepEqual([group.code, group.stderr.includes('outputHelp'), /create/.test(group.stderr)], [2, false, true]);
    assert.match((await run(['--version'])).stdout, /^svc \d+\.\d+\.\d+(?: \([0-9a-f]{12}\))?, Node\.js \d+/);
  });

  test('the doctor finds no fault on this machine while the platform runs', async () => {
    const { code, stdout } = await run(['doctor', '--json', '--data-dir', dataDir, '--port', String(platform.port)]);
    const report = JSON.parse(stdout);
    assert.deepEqual(
      report.checks.filter((check: { ok: boolean }) => !check.ok),
      [],
    );
    assert.equal(code, 0);
  });

  test('the doctor changes nothing: what waits for the next start waits after it too', async () => {
    await using fresh = temporaryFolder();
    const own = join(fresh.path, 'data');
    const args = ['doctor', '--json', '--data-dir', own, '--port', String(await freePort())];
    const report = JSON.parse((await run(args)).stdout);
    const { found } = report.checks.find(({ name }: { name: string }) => name === 'schema');
    assert.match(found, /^\d+ migrations wait/);
    assert.equal(existsSync(own), false);
  });

  test('the database killed with -9 is started again, and what was acknowledged is there', async () => {
    const { id } = await client().keys.create({ body: { name: 'kept' } });
    const pid = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
    process.kill(pid, 'SIGKILL');
    for (;;) {
      const keys = await client()
        .keys.list()
        .catch(() => undefined);
      if (keys) {
        assert.ok(keys.keys.some((entry) => entry.id === id));
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  test('a port in use, a malformed setting and an unknown one are told by name', async () => {
    layCluster(join(folder.path, 'other'));
    const inUse = await run(['up', '--port', String(platform.port), '--data-dir', join(folder.path, 'other')]);
    assert.deepEqual([inUse.code, /SVC_PORT: \d+ is in use/.test(inUse.stderr)], [2, true]);
    const second = await run(['up', '--data-dir', dataDir]);
    assert.equal(second.code, 1);
    const words = `the platform runs on this data dir: pid ${platform.process.pid} at http://localhost:${platform.port}`;
    assert.ok(second.stderr.includes(words), second.stderr);
    const malformed = await run(['up'], { SVC_PORT: 'eighty' });
    assert.equal(malformed.code, 2);
    assert.match(malformed.stderr, /^svc: SVC_PORT: .+\n$/);
    const valueless = await run(['status', '--port']);
    assert.deepEqual([valueless.code, valueless.stderr], [2, "svc: option '--port <value>' argument missing\n"]);
    const providers = join(folder.path, 'providers.json');
    for (const [text, said] of [
      [undefined, 'ENOENT'],
      ['{"lanes":[{"kind":"openai"}]}', 'lanes.0.id'],
    ] as const) {
      if (text !== undefined) writeFileSync(providers, text);
      const { code, stderr } = await run(['up', '--data-dir', join(folder.path, 'other')], {
        SVC_PROVIDERS: providers,
      });
      assert.equal(code, 2);
      assert.match(stderr, /^svc: SVC_PROVIDERS: .+\n$/);
      assert.ok(stderr.includes(said), stderr);
    }
    // It started with it.
    assert.match(platform.output(), /SVC_PROT is no setting/);
  });

  test('no secret is taken from a command line, where others read it, nor repeated', async () => {
    for (const words of [
      ['--master-key', 'hidden-value-hidden-value-hidden-value'],
      ['--database-url', 'postgres://u:hidden-value@127.0.0.1:1/x'],
    ]) {
      const { code, stderr } = await run(['doctor', ...words]);
      assert.deepEqual(
        [code, /^svc: --[a-z-]+: a secret on a command line .*-file <path>\n$/.test(stderr)],
        [2, true],
        stderr,
      );
      assert.ok(!stderr.includes('hidden-value'));
    }
  });

  test('no log line holds a key', () => {
    const logs = platform.output();
    assert.ok(!/svc_[0-9A-Za-z]{38}/.test(logs.replaceAll(key, '')));
    assert.ok(!logs.includes(key));
  });

  test('SIGTERM ends it with exit code 0 within 10 s, streams and database with it; commands work then, and leave nothing running; usage is kept', async () => {
    const before = await usageCount();
    for (let i = 0; i < 20; i++) await client().devices.list();
    const frames = createClient({
      baseUrl: platform.url,
      apiKey: key,
      device: { id: crypto.randomUUID() },
    }).hosts.stream({ query: {} });
    await frames.next();
    platform.process.kill('SIGTERM');
    assert.equal(await platform.end('SIGTERM'), 0, 'a signal that comes twice changes nothing');
    assert.equal((await frames.next()).done, true);
    // Commands work while it is down, and leave nothing running.
    const { code, stdout, stderr } = await run([
      'keys',
      'list',
      '--email',
      'owner@localhost',
      '--json',
      '--data-dir',
      dataDir,
    ]);
    assert.equal(code, 0, stderr);
    assert.ok(JSON.parse(stdout).length >= 1);
    assert.throws(() => statSync(join(dataDir, 'postgres/postmaster.pid')));
    platform = await startPlatform(dataDir, platform.port);
    assert.ok((await usageCount()) >= before + 20);
  });

  test('a command runs on a machine through the daemon, and its output and exit code come back', async () => {
    const daemon = start(
      ['host', 'run', '--state-dir', hostDir, '--name', 'box', '--roots', folder.path, '--allow-shell'],
      hostEnvironment(),
    );
    await daemon.printed(/connected as box/);
    const ran = await run(
      ['host', 'exec', 'box', '--', 'sh', '-c', 'uname -a; echo oops >&2; exit 7'],
      hostEnvironment(),
    );
    assert.equal(ran.code, 7);
    assert.equal(ran.stdout, execFileSync('uname', ['-a'], { encoding: 'utf8' }));
    assert.equal(ran.stderr, 'oops\n');

    // kill -9 of the platform: key, devices and usage are there afterwards, and the daemon comes back by itself.
    await client().devices.list();
    await until(async () => (await usageCount()) > 0);
    const deviceIds = async () => (await client().devices.list()).devices.map((device) => device.id).sort();
    const devices = await deviceIds();
    assert.equal(await platform.end('SIGKILL'), 'SIGKILL');
    platform = await startPlatform(dataDir, platform.port);
    assert.equal(platform.key, '', 'the key is told once');
    assert.deepEqual(await deviceIds(), devices);
    assert.ok((await usageCount()) > 0);
    await daemon.printed(/connected as box[^]*connected as box/);
    const again = await run(['host', 'exec', 'box', '--', 'echo back'], hostEnvironment());
    assert.deepEqual([again.code, again.stdout], [0, 'back\n']);
    assert.equal(await daemon.end(), 0);
  });

  // The last: the lease of the platform that was cut off lasts for a while.
  test('SIGTERM ends it though its database hangs, and the next start goes on with that database', async () => {
    const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
    const hung = [postmaster, ...childrenOf(postmaster)];
    signalAll(hung, 'SIGSTOP');
    try {
      assert.equal(await platform.end(), 0);
    } finally {
      signalAll(hung, 'SIGCONT');
    }
    platform = await startPlatform(dataDir, platform.port);
    assert.ok((await client().keys.list()).keys.length > 0);
  });
});

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);

/** Some may have ended since they were listed. */
function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
    }
  }
}
