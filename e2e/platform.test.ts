import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import {
  freePort,
  killAll,
  makeRealClusters,
  noSandboxes,
  type Platform,
  run,
  runOnTerminal,
  start,
  startPlatform,
  temporaryFolder,
} from './platform.ts';
import { until } from '../apps/server/src/testing.ts';
import { ownSandboxes } from './sandboxes.ts';

makeRealClusters();

describe('the platform as a person runs it', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const hostDir = join(folder.path, 'host');
  let platform: Platform;
  let key: string;

  before(async () => {
    platform = await startPlatform(dataDir, await freePort(), ownSandboxes);
    key = platform.key;
  });
  after(async () => {
    await platform.end();
    killAll();
    await folder.remove();
  });

  const client = () => createClient({ baseUrl: platform.url, apiKey: key });
  const hostEnvironment = () => ({ SVC_API_KEY: key, SVC_BASE_URL: platform.url });
  const svcJson = async (...args: string[]) => {
    const { code, stdout, stderr } = await run([...args, '--json', '--data-dir', dataDir]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };

  test('a first start without a terminal keeps the key in a file of its owner, and prints a curl line that works', async () => {
    const line = /^ {2}(curl .*)$/m.exec(platform.output())?.[1] ?? assert.fail(platform.output());
    const answer = JSON.parse(execFileSync('sh', ['-c', `${line} -s`], { encoding: 'utf8' }));
    assert.equal(answer.keys.length, 1);
    assert.ok(!readFileSync(join(dataDir, 'postgres.log'), 'utf8').includes(key));
    assert.ok(key.length > 0 && !platform.output().includes(key), 'a journal has it not');
    assert.equal(statSync(join(dataDir, 'owner.key')).mode & 0o777, 0o600);
  });

  test('on a terminal a first start shows the key, and writes it nowhere', async () => {
    await using fresh = temporaryFolder();
    const own = join(fresh.path, 'data');
    const svc = join(import.meta.dirname, '../svc');
    const up = `${svc} up --port ${await freePort()} --data-dir ${own}`;
    // `script` gives it a terminal.
    const environment = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...noSandboxes };
    const terminal = spawn('script', ['-qec', up, '/dev/null'], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await until(() => /curl -H/.test(text));
    assert.match(text, /Your API key, shown once:\r\n {2}svc_\w{38}\r\n/);
    assert.doesNotMatch(text, /\{"level"/, 'the log is for people too');
    assert.match(text, /\[\d\d:\d\d:\d\d\].*INFO.*migrations applied/);
    assert.equal(existsSync(join(own, 'owner.key')), false);
    const { pid } = JSON.parse(readFileSync(join(own, 'running.json'), 'utf8'));
    process.kill(pid, 'SIGTERM');
    await once(terminal, 'close');
  });

  test('generated secrets are readable by their owner alone', () => {
    assert.equal(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600);
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
    const list = await run(['host', 'list', '--json'], hostEnvironment());
    assert.match(list.stdout, /"box"/);

    // kill -9 of the platform: key, devices and usage are there afterwards, and the daemon comes back by itself.
    await client().devices.list();
    await until(async () => (await usageCount()) > 0);
    const deviceIds = async () => (await client().devices.list()).devices.map((device) => device.id).sort();
    const devices = await deviceIds();
    assert.equal(await platform.end('SIGKILL'), 'SIGKILL');
    platform = await startPlatform(dataDir, platform.port, ownSandboxes);
    assert.equal(platform.key, '', 'the key is told once');
    assert.deepEqual(await deviceIds(), devices);
    assert.ok((await usageCount()) > 0);
    await daemon.printed(/connected as box[^]*connected as box/);
    const again = await run(['host', 'exec', 'box', '--', 'echo back'], hostEnvironment());
    assert.deepEqual([again.code, again.stdout], [0, 'back\n']);
    assert.equal(await daemon.end(), 0);
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
    const created = await svcJson('accounts', 'create', '--email', 'a@b.c', '--name', 'Ana');
    assert.equal(created.email, 'a@b.c');
    const { id, key: text } = await svcJson(
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
    await svcJson('keys', 'pause', id);
    await assert.rejects(theirs.devices.list(), { status: 401 });
    await svcJson('keys', 'resume', id);
    await theirs.devices.list();
    await svcJson('accounts', 'set', '--email', 'A@B.C', '--subscription', 'inactive', '--feature', 'transcripts=off');
    await assert.rejects(theirs.devices.list(), { status: 402, code: 'subscription_inactive' });
    const set = await svcJson('accounts', 'set', '--email', 'a@b.c', '--subscription', 'active', '--tool-level', 'l2');
    assert.deepEqual([set.features, set.tool_level], [{ transcripts: false }, 'l2']);
    await theirs.devices.list();
    await svcJson('keys', 'revoke', text.slice(0, 8));
    await assert.rejects(theirs.devices.list(), { status: 401, code: 'invalid_api_key' });
    assert.equal((await svcJson('keys', 'list', '--email', 'a@b.c'))[0].status, 'revoked');
  });

  test('an account is deleted once that was asked; a deletion that is killed is in force, and goes on when it is called again', async () => {
    const place = ['--data-dir', dataDir];
    const make = async (email: string) => {
      await svcJson('accounts', 'create', '--email', email);
      return createClient({ baseUrl: platform.url, apiKey: (await svcJson('keys', 'create', '--email', email)).key });
    };
    const asked = await make('asked@b.c');
    const remove = ['accounts', 'delete', '--email', 'asked@b.c', ...place];
    const unasked = await run(remove);
    assert.deepEqual([unasked.code, /add --yes/.test(unasked.stderr)], [1, true], unasked.stderr);
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
    const refused = await run(['accounts', 'resume', '--email', email, ...place]);
    assert.match(refused.stderr, /being deleted/);
    assert.equal((await svcJson('accounts', 'delete', '--email', email))['accounts.accounts'], 1);
    await assert.rejects(killed.keys.list(), { status: 401 });
    const acts = await svcJson('audit', '--action', 'accounts.delete', '--limit', '2');
    assert.deepEqual(
      acts.map(({ by, details }: { by: string; details: { state: string } }) => [by, details.state]),
      [
        ['cli', 'done'],
        ['cli', 'begun'],
      ],
    );
  });

  test('organisations and wallets are kept by commands', async () => {
    await svcJson('accounts', 'create', '--email', 'o@b.c');
    const org = await svcJson('orgs', 'create', '--name', 'Org', '--owner', 'o@b.c');
    await svcJson('orgs', 'add', '--org', org.org_id, '--email', 'a@b.c', '--role', 'admin');
    const last = await run([
      'orgs',
      'add',
      '--org',
      org.org_id,
      '--email',
      'o@b.c',
      '--role',
      'member',
      '--data-dir',
      dataDir,
    ]);
    assert.equal(last.code, 1);
    assert.match(last.stderr, /needs an owner/);
    await svcJson('wallet', 'credit', '--email', 'o@b.c', '--micro-eur', '5000000', '--source-key', 'once');
    await svcJson('wallet', 'credit', '--email', 'o@b.c', '--micro-eur', '5000000', '--source-key', 'once');
    assert.equal((await svcJson('wallet', 'show', '--email', 'o@b.c')).balance_micro_eur, 5_000_000);
  });

  test('a command that fails says why in one line and exits non-zero', async () => {
    const faults: [string[], RegExp][] = [
      [['accounts', 'create', '--email', 'a@b.c'], /exists/],
      [['accounts', 'create', '--email', 'nonsense'], /no e-mail address/],
      [['accounts', 'set', '--email', 'x@y.z'], /no account/],
      [['keys', 'create', '--email', 'a@b.c', '--scopes', 'a b'], /must be/],
      [['keys', 'revoke', 'nonsense'], /neither/],
      [['wallet', 'credit', '--email', 'a@b.c', '--micro-eur', '1.5'], /integer/],
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
    const args = ['doctor', '--json', '--data-dir', join(fresh.path, 'data'), '--port', String(await freePort())];
    for (let time = 1; time <= 2; time += 1) {
      const report = JSON.parse((await run(args)).stdout);
      const { found } = report.checks.find(({ name }: { name: string }) => name === 'schema');
      assert.match(found, /^\d+ migrations wait/);
    }
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
      ['{', 'JSON'],
      ['{"lanes":[{"kind":"openai"}]}', 'lanes.0.id'],
      ['{"lans":[]}', 'lans'],
    ] as const) {
      if (text !== undefined) writeFileSync(providers, text);
      const { code, stderr } = await run(['up', '--data-dir', join(folder.path, 'other')], {
        SVC_PROVIDERS: providers,
      });
      assert.equal(code, 2);
      assert.match(stderr, /^svc: SVC_PROVIDERS: .+\n$/);
      assert.ok(stderr.includes(said), stderr);
    }
    const warned = start(['up', '--port', '0', '--data-dir', dataDir], { ...ownSandboxes, SVC_PROT: '1' });
    await warned.printed(/SVC_PROT is no setting/);
    await warned.printed(/svc is ready/);
    assert.equal(await warned.end(), 0);
  });

  test('no secret is taken from a command line, where others read it, nor repeated', async () => {
    for (const words of [
      ['--master-key', 'hidden-value-hidden-value-hidden-value'],
      ['--master-key=hidden-value-hidden-value-hidden-value'],
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

  test('on a network address it says where other machines reach it', async () => {
    await using fresh = temporaryFolder();
    const port = await freePort();
    const words = ['up', '--host', '0.0.0.0', '--port', String(port), '--data-dir', join(fresh.path, 'data')];
    const open = start(words);
    await open.printed(/links in answers say http:\/\/localhost:\d+, .* set SVC_BASE_URL/);
    assert.match(open.output(), /from other machines: (?:http:\/\/[\d.]+:\d+|none found)/);
    assert.equal(await open.end(), 0);
  });

  test('no log line holds a key', () => {
    const logs = platform.output();
    assert.ok(!/svc_[0-9A-Za-z]{38}/.test(logs.replaceAll(key, '')));
    assert.ok(!logs.includes(key));
  });

  test('SIGTERM ends it with exit code 0 within 10 s, streams and database with it; usage is kept', async () => {
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
    platform = await startPlatform(dataDir, platform.port, ownSandboxes);
    assert.ok((await usageCount()) >= before + 20);
  });

  test('who lost the key gets another: the only account needs no naming, and has the address it was given', async () => {
    await using fresh = temporaryFolder();
    const settings = { ...noSandboxes, SVC_DATA_DIR: join(fresh.path, 'data') };
    const own = await startPlatform(settings.SVC_DATA_DIR, await freePort(), {
      ...settings,
      SVC_OWNER_EMAIL: 'me@example.com',
    });
    const asked = async (...words: string[]) => {
      const { code, stdout, stderr } = await run([...words, '--json'], settings);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    assert.equal((await asked('accounts', 'show')).email, 'me@example.com');
    const { key: another } = await asked('keys', 'create', '--name', 'found again');
    await createClient({ baseUrl: own.url, apiKey: another }).devices.list();
    assert.equal((await asked('accounts', 'set', '--new-email', 'new@example.com')).email, 'new@example.com');
    assert.deepEqual(
      (await asked('accounts', 'list')).map(({ email }: { email: string }) => email),
      ['new@example.com'],
    );
    assert.equal((await asked('wallet', 'show')).email, 'new@example.com');
    assert.equal((await asked('keys', 'list')).length, 2);
    await own.end();
  });

  test('commands work while the platform is down, and leave nothing running', async () => {
    assert.equal(await platform.end(), 0);
    const keys = await svcJson('keys', 'list', '--email', 'owner@localhost');
    assert.ok(keys.length >= 1);
    assert.throws(() => statSync(join(dataDir, 'postgres/postmaster.pid')));
    platform = await startPlatform(dataDir, platform.port, ownSandboxes);
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
    platform = await startPlatform(dataDir, platform.port, ownSandboxes);
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
