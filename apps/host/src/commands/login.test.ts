import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fakePlatform } from '../testing.sign-in.ts';
import { lineOf, startCommand, startLineOnTerminal, temporaryDirectory } from '../testing.ts';

async function machine(context: TestContext) {
  const home = await temporaryDirectory(context);
  const environment = { HOME: home, XDG_CONFIG_HOME: home };
  const start = (...words: string[]) => startCommand(context, words, environment, 'login');
  const run = async (...words: string[]) => {
    const command = start(...words);
    return { code: await command.ended, stdout: command.stdout(), stderr: command.stderr() };
  };
  const file = (name = 'default') => join(home, `svc/${name}.json`);
  const profile = async (name?: string) => JSON.parse(await readFile(file(name), 'utf8')) as Record<string, unknown>;
  return { home, environment, start, run, file, profile };
}

test('without a display a code is shown, and the key is kept and never printed', async (context) => {
  const [m, fake] = [await machine(context), await fakePlatform(context)];
  const signed = await m.run('login', fake.url);
  assert.equal(signed.code, 0, signed.stderr);
  assert.match(
    signed.stdout,
    /\n {2}http:\/\/127\.0\.0\.1:\d+\/auth\/device\n {2}BCDF-GHJK\nsigned in at .+ as ana@example\.test;/,
  );
  assert.match(signed.stderr, /not allowed: devices:read, environments, /);
  const { key, url, account, scopes, device } = await m.profile();
  assert.deepEqual([key, url, scopes], [fake.keys[0], fake.url, ['sessions']]);
  assert.equal((account as { email: string }).email, 'ana@example.test');
  assert.ok(!(signed.stdout + signed.stderr).includes(String(key)));
  const connected = fake.calls.find(({ line }) => line === 'POST /v1/keys/connect');
  assert.deepEqual(JSON.parse(connected?.body ?? ''), { name: hostname(), device });
  const { headers, body } = fake.calls.find(({ line }) => line === 'POST /auth/device/authorize') ?? {};
  assert.equal(headers?.['x-svc-device-name'], hostname());
  assert.match(
    body ?? '',
    /scope=devices%3Aread\+environments\+environments%3Aterminal\+hosts%3Aexec\+hosts%3Aread\+prompts\+schedules\+sessions&/,
  );
});

test('with --json standard output holds one value, without the key', async (context) => {
  const [m, fake] = [await machine(context), await fakePlatform(context)];
  const signed = await m.run('login', fake.url, '--json', '--scopes', 'sessions', '--name', 'box', '--profile', 'work');
  const { key_id: keyId, account } = await m.profile('work');
  assert.deepEqual(JSON.parse(signed.stdout), {
    profile: 'work',
    url: fake.url,
    key_id: keyId,
    account,
    scopes: ['sessions'],
    file: m.file('work'),
  });
  assert.match(signed.stderr, /BCDF-GHJK/);
  assert.doesNotMatch(signed.stderr, /not allowed/);
});

test('on a terminal a code comes with a QR code, and what a platform says cannot act on it', async (context) => {
  const [m, fake] = [await machine(context), await fakePlatform(context)];
  const address = `${fake.url}/auth/device`;
  fake.says['POST /auth/device/authorize'] = [
    200,
    {
      device_code: 'd',
      user_code: 'BC\u001b]0;x\u0007',
      verification_uri: address,
      verification_uri_complete: `${address}?user_code=BC`,
      interval: 0.001,
    },
  ];
  const terminal = startLineOnTerminal(context, lineOf('login', ['login', fake.url, '--device']), m.environment);
  assert.equal(await terminal.ended, 0, terminal.screen());
  assert.ok(terminal.screen().includes('BC\\u{1b}]0;x\\u{7}'));
  const qr = `\u001b[97;40m${'█'.repeat(25)}`;
  assert.ok(terminal.screen().includes(qr), terminal.screen());
});

test('Ctrl-C while nobody has decided ends it with 130, and nothing is kept', async (context) => {
  const [m, fake] = [await machine(context), await fakePlatform(context)];
  fake.says['POST /auth/token'] = [400, { error: 'authorization_pending' }];
  const command = m.start('login', fake.url);
  await command.says('BCDF-GHJK');
  command.process.kill('SIGINT');
  assert.equal(await command.ended, 130);
  assert.equal(command.stderr(), 'svc: interrupted; nothing was signed in\n');
  assert.ok(!existsSync(m.file()));
});

test('Ctrl-C while the browser is open closes the port and ends it with 130', async (context) => {
  const [m, fake] = [await machine(context), await fakePlatform(context)];
  const environment = { ...m.environment, DISPLAY: ':0', BROWSER: '/bin/true' };
  const terminal = startLineOnTerminal(context, lineOf('login', ['login', fake.url]), environment);
  await terminal.shows('/auth/authorize?');
  terminal.type('\u0003');
  assert.equal(await terminal.ended, 130);
  assert.match(terminal.screen(), /svc: interrupted; nothing was signed in/);
});

test('a profile that moves to another platform ends its key at the former one', async (context) => {
  const [m, first, second] = [await machine(context), await fakePlatform(context), await fakePlatform(context)];
  await m.run('login', first.url);
  const { key_id: keyId, key } = await m.profile();
  assert.equal((await m.run('login', second.url)).code, 0);
  const ended = first.calls.at(-1);
  assert.deepEqual(
    [ended?.line, ended?.headers.authorization],
    [`DELETE /v1/keys/${String(keyId)}`, `Bearer ${String(key)}`],
  );
  assert.ok(second.calls.every(({ headers }) => headers.authorization !== `Bearer ${String(key)}`));
  assert.equal((await m.profile())['url'], second.url);
});

test('a key that cannot be kept is ended', async (context) => {
  const [m, fake] = [await machine(context), await fakePlatform(context)];
  const command = m.start('login', fake.url);
  fake.says['GET /v1/me'] = () => {
    // A folder in its place cannot be replaced by a file.
    mkdirSync(m.file(), { recursive: true });
    return [404, {}];
  };
  assert.equal(await command.ended, 1);
  assert.match(command.stderr(), /cannot write .+default\.json: E/);
  assert.match(fake.calls.at(-1)?.line ?? '', /^DELETE \/v1\/keys\//);
});

test('whoami tells who is signed in, in printable characters, and 1 when nobody is', async (context) => {
  const [m, fake] = [await machine(context), await fakePlatform(context)];
  const nobody = await m.run('whoami');
  assert.deepEqual([nobody.code, nobody.stderr], [1, 'svc: not signed in: svc login\n']);
  await m.run('login', fake.url);
  const who = await m.run('whoami');
  assert.equal(who.code, 0, who.stderr);
  assert.match(
    who.stdout,
    /^account +Ana\\u\{1b\}\[2J \(acc-1\)\naddress +ana@example\.test\nprofile +default\nurl +http/,
  );
  assert.match(who.stdout, /\nkey +svc_.{4}…\nscopes +sessions\n$/);
  const json = JSON.parse((await m.run('whoami', '--json')).stdout) as Record<string, Record<string, unknown>>;
  assert.deepEqual([json['profile'], json['account']?.['id'], json['scopes']], ['default', 'acc-1', ['sessions']]);
  fake.says['GET /v1/me'] = [404, {}];
  assert.match((await m.run('whoami')).stderr, /is too old to say who is signed in/);
  fake.says['GET /v1/me'] = [401, {}];
  const refused = await m.run('whoami');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /does not take the key; sign in again: svc login http/);
});

test('logout ends the key and removes the file, also when the platform is away or does not know the key', async (context) => {
  const [m, fake] = [await machine(context), await fakePlatform(context)];
  await m.run('login', fake.url);
  const done = await m.run('logout');
  assert.deepEqual([done.code, done.stdout, done.stderr], [0, `signed out from ${fake.url}\n`, '']);
  assert.match(fake.calls.at(-1)?.line ?? '', /^DELETE \/v1\/keys\//);
  assert.ok(!existsSync(m.file()));
  const warnings: [object, RegExp][] = [
    [{ 'DELETE /v1/keys/ID': [401, {}] }, /did not take the key any more/],
    [
      { 'DELETE /v1/keys/ID': [403, { error: { code: 'forbidden', message: 'no' } }] },
      /was not revoked: 403 forbidden: no;/,
    ],
  ];
  for (const [says, warning] of warnings) {
    await m.run('login', fake.url);
    Object.assign(fake.says, says);
    const left = await m.run('logout');
    assert.equal(left.code, 0);
    assert.match(left.stderr, warning);
    assert.ok(!existsSync(m.file()));
  }
  await m.run('login', fake.url);
  await writeFile(m.file(), (await readFile(m.file(), 'utf8')).replace(fake.url, 'http://127.0.0.1:1'));
  const away = await m.run('logout', '--json');
  assert.deepEqual([away.code, JSON.parse(away.stdout)], [0, { profile: 'default', signed_out: true, revoked: false }]);
  assert.match(away.stderr, /was not revoked: 127\.0\.0\.1:1 cannot be reached/);
  assert.ok(!existsSync(m.file()));
});

test('a wrong name, scope or address is said in one line', async (context) => {
  const m = await machine(context);
  const faults: [string[], RegExp][] = [
    [['login'], /^svc: give the address of the platform: svc login https:/],
    [['login', 'nonsense'], /^svc: the gateway's URL must start with http/],
    [['login', 'http://127.0.0.1:1'], /^svc: 127\.0\.0\.1:1 cannot be reached: .+\n$/],
    [['login', 'http://127.0.0.1:1', '--scopes', 'All!'], /^svc: --scopes are names such as /],
    [['login', 'http://127.0.0.1:1', '--profile', 'host'], /^svc: a profile cannot be called "host"/],
  ];
  for (const [words, message] of faults) {
    const { code, stderr } = await m.run(...words);
    assert.equal(code, 1, words.join(' '));
    assert.match(stderr, message);
  }
});
