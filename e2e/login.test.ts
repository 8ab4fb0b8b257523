import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type HostCommand,
  type Lifetime,
  startFile,
  startLineOnTerminal,
  temporaryDirectory,
  wordsAsLine,
} from '../apps/host/src/testing.ts';
import { createLink } from '../apps/server/src/features/auth/people/links.ts';
import { hostProgram } from '../apps/server/src/features/hosts/hosts.program.ts';
import { bySystem } from '../apps/server/src/kernel/records/audit.ts';
import { shared } from '../apps/server/src/testing.shared.ts';
import { createAccount, http, openTest, until } from '../apps/server/src/testing.ts';
import { freePort } from './environments.testing.ts';
import { Browser, scopesOffered } from './login.testing.ts';

const password = 'correct horse battery';
/** The Node.js of the machine, where it is the oldest that the program runs under. */
const path = '/usr/local/bin:/usr/bin:/bin';
const found = spawnSync('/bin/sh', ['-c', 'command -v node'], { encoding: 'utf8', env: { PATH: path } }).stdout.trim();
const isOldest = found !== '' && spawnSync(found, ['--version'], { encoding: 'utf8' }).stdout.startsWith('v20.');
const node = isOldest ? found : process.execPath;

const t = shared(async () => openTest({ settings: { SVC_PORT: String(await freePort()) } }));
let program: Buffer;
before(async () => {
  program = (await hostProgram.built()).bytes;
});

/** An account whose person has a password. */
async function person(): Promise<{ id: string; email: string }> {
  const { gateway } = t;
  const { id, email } = await createAccount(gateway);
  const { token } = await createLink(gateway.kernel, { purpose: 'setup', accountId: id, by: bySystem });
  const set = await new Browser().open(`${gateway.kernel.config.authUrl}/setup`, {
    carry: token,
    email,
    name: 'Ana',
    password,
  });
  assert.equal(set.status, 200, set.html);
  return { id, email };
}

/** A machine with the one file, on which nobody is signed in yet. */
async function machine(context: Lifetime) {
  const home = await temporaryDirectory(context);
  const file = join(home, 'host.mjs');
  await writeFile(file, program);
  const config = join(home, 'config');
  const environment = { PATH: path, HOME: home, XDG_CONFIG_HOME: config };
  const run = (...words: string[]): HostCommand => startFile(context, [node, file, ...words], environment);
  const ran = async (...words: string[]) => {
    const command = run(...words);
    return { code: await command.ended, stdout: command.stdout(), stderr: command.stderr() };
  };
  const profile = async (name = 'default') =>
    JSON.parse(await readFile(join(config, `svc/${name}.json`), 'utf8')) as Record<string, string> & {
      scopes: string[];
    };
  return { home, file, folder: join(config, 'svc'), environment, run, ran, profile };
}

/** Signs in on the page that a browser is at, and lets the program do what is asked but `except`. */
async function allow(browser: Browser, at: string | Awaited<ReturnType<Browser['open']>>, email: string, except = '') {
  let page = typeof at === 'string' ? await browser.open(at) : at;
  if (/name="password"/.test(page.html)) page = await browser.submit(page, { email, password });
  const scope = scopesOffered(page).filter((one) => one !== except);
  assert.ok(scope.length > 0, page.html);
  return browser.submit(page, { scope, decision: 'allow' });
}

/** Signs a machine in by its own browser; answers what its terminal showed. */
async function signInByBrowser(
  context: Lifetime,
  m: Awaited<ReturnType<typeof machine>>,
  email: string,
  { words = [], except = '' }: { words?: string[]; except?: string } = {},
): Promise<{ screen: string; address: string; html: string }> {
  const shown = join(m.home, `shown-${randomUUID()}`);
  const opener = join(m.home, 'opener');
  await writeFile(opener, `#!/bin/sh\necho "$1" > '${shown}'\n`, { mode: 0o755 });
  const line = wordsAsLine([node, m.file, 'login', t.gateway.kernel.config.baseUrl, ...words]);
  const terminal = startLineOnTerminal(context, line, { ...m.environment, DISPLAY: ':0', BROWSER: opener });
  const isShown = async (): Promise<boolean> => (await readFile(shown, 'utf8').catch(() => '')).endsWith('\n');
  await until(isShown);
  const address = (await readFile(shown, 'utf8')).trim();
  await terminal.shows(address);
  const { html } = await allow(new Browser(), address, email, except);
  assert.equal(await terminal.ended, 0, terminal.screen());
  return { screen: terminal.screen(), address, html };
}

/** Signs a machine in by a code that a person types in a browser of their own. `name`: of the machine. */
async function signInByCode(m: Awaited<ReturnType<typeof machine>>, email: string, name: string): Promise<void> {
  const { authUrl, baseUrl } = t.gateway.kernel.config;
  const command = m.run('login', baseUrl, '--name', name);
  await command.says(/^ {2}[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/m);
  const code = /^ {2}(\w{4}-\w{4})$/m.exec(command.stdout())?.[1] ?? '';
  // On this machine people are led to the name at which passkeys work.
  const pages = authUrl.replace('127.0.0.1', 'localhost');
  assert.ok(command.stdout().includes(`  ${pages}/device\n`), command.stdout());
  const browser = new Browser();
  const confirm = await browser.submit(await browser.open(`${pages}/device`), { user_code: code });
  assert.ok(confirm.html.includes(code) && confirm.html.includes(name), confirm.html);
  const page = await browser.submit(confirm, { confirm: 'yes' });
  const done = await allow(browser, page, email);
  assert.equal(done.status, 200, done.html);
  assert.equal(await command.ended, 0, command.stderr());
}

test('a code that is typed in another browser signs a machine in, and a second sign-in replaces the key', async (context) => {
  const [m, { email }] = [await machine(context), await person()];
  const { baseUrl } = t.gateway.kernel.config;
  await signInByCode(m, email, 'cutia mică');
  const first = await m.profile();
  await signInByCode(m, email, 'cutia mică');
  const second = await m.profile();
  assert.equal(second['device'], first['device']);
  assert.notEqual(second['key'], first['key']);
  const status = async (key = '') => (await http(baseUrl, '/v1/sessions', { key })).status;
  assert.equal(await status(second['key']), 200);
  // The platform ends the former one when this one is used first.
  await until(async () => (await status(first['key'])) === 401);
});

test('two profiles are side by side, also of one account, and logout revokes the key of one', async (context) => {
  const [m, { email }] = [await machine(context), await person()];
  const { baseUrl } = t.gateway.kernel.config;
  await signInByBrowser(context, m, email);
  await signInByBrowser(context, m, email, { words: ['--profile', 'work'] });
  const [first, work] = [await m.profile(), await m.profile('work')];
  assert.notEqual(first['device'], work['device']);
  for (const words of [[], ['--profile', 'work']])
    assert.equal((await m.ran('session', 'list', ...words)).code, 0, words.join(' '));
  const out = await m.ran('logout', '--profile', 'work', '--json');
  assert.deepEqual(
    [out.code, JSON.parse(out.stdout)],
    [0, { profile: 'work', signed_out: true, revoked: true }],
    out.stderr,
  );
  assert.equal((await http(baseUrl, '/v1/sessions', { key: work['key'] as string })).status, 401);
  assert.equal((await http(baseUrl, '/v1/sessions', { key: first['key'] as string })).status, 200);
  assert.deepEqual((await readdir(m.folder)).sort(), ['default.json', 'device.json']);
  const gone = await m.ran('session', 'list', '--profile', 'work');
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /nobody is signed in as the profile "work": svc login --profile work/);
});

describe('a machine on which somebody signs in, until the key is revoked', () => {
  const stack = new AsyncDisposableStack();
  let m: Awaited<ReturnType<typeof machine>>;
  let owner: Awaited<ReturnType<typeof person>>;
  let shown: Awaited<ReturnType<typeof signInByBrowser>>;
  before(async () => {
    const lifetime: Lifetime = { after: (work) => stack.defer(async () => void (await work())) };
    [m, owner] = [await machine(lifetime), await person()];
    shown = await signInByBrowser(lifetime, m, owner.email, { except: 'prompts' });
  });
  after(() => stack.disposeAsync());

  test('login opens the browser, takes the answer at a port of its own, and later commands use the key', async () => {
    const { baseUrl, authUrl } = t.gateway.kernel.config;
    const { screen, address, html } = shown;
    assert.ok(address.startsWith(`${authUrl.replace('127.0.0.1', 'localhost')}/authorize?`), address);
    assert.match(html, /You can close this window/);
    assert.match(screen, /not allowed: prompts/);

    const { url, key, scopes } = await m.profile();
    assert.equal(url, baseUrl);
    assert.ok(!scopes.includes('prompts') && scopes.includes('sessions'), String(scopes));
    assert.ok(!screen.includes(key as string));
    assert.equal((await stat(join(m.folder, 'default.json'))).mode & 0o777, 0o600);
    assert.equal((await stat(m.folder)).mode & 0o777, 0o700);
    assert.deepEqual((await readdir(m.folder)).sort(), ['default.json', 'device.json']);

    for (const [program, answer] of [
      ['session', '{"sessions":[]}'],
      ['host', '{"hosts":[]}'],
    ] as const) {
      const listed = await m.ran(program, 'list', '--json');
      assert.deepEqual([listed.code, listed.stdout], [0, `${answer}\n`], listed.stderr);
    }
    const kept = await m.ran('prompt', 'add', 'later');
    assert.equal(kept.code, 1);
    assert.match(kept.stderr, /403 forbidden: this key lacks the scope "prompts"/);
    const who = await m.ran('whoami');
    assert.match(who.stdout, new RegExp(owner.email), who.stderr);
  });

  test('a key goes to no other platform than the one that made it', async (context) => {
    let calls = 0;
    const other = createServer((_request, response) => {
      calls += 1;
      response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    context.after(() => other.close());
    await once(other, 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const refused = await m.ran('session', 'list', '--url', url);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /the profile "default" is signed in at .+, not at /);
    assert.equal(calls, 0);
  });

  test('a key that was revoked elsewhere: commands say how to sign in again, and logout still removes it', async () => {
    const { gateway } = t;
    const { key_id: keyId } = await m.profile();
    await gateway.kernel
      .sql`update keys.keys set status = 'revoked' where id = ${keyId as string} and account_id = ${owner.id}`;
    await gateway.kernel.gateways.announce('credentials.changed', { accountId: owner.id });
    const refused = await m.ran('env', 'list');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /401 invalid_api_key: .+; sign in again: svc login http/);
    const out = await m.ran('logout');
    assert.equal(out.code, 0);
    assert.match(out.stderr, /did not take the key any more/);
    assert.equal((await m.ran('whoami')).code, 1);
  });
});
