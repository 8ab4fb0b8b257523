import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findSignIn, loadConfig, loginUrl, lookAtScreen } from './config.ts';
import { type Profile, writeProfile } from './profile.ts';
import { temporaryDirectory } from './testing.ts';

test('the key comes from --key, else the key file, else SVC_API_KEY', async (t) => {
  const keyFile = join(await temporaryDirectory(t), 'key');
  await writeFile(keyFile, 'from-file\n', { mode: 0o600 });
  assert.equal(loadConfig({ key: 'given', keyFile }, { SVC_API_KEY: 'env' }).key, 'given');
  assert.equal(loadConfig({ keyFile }, { SVC_API_KEY: 'env' }).key, 'from-file');
  assert.equal(loadConfig({}, { SVC_API_KEY: 'env' }).key, 'env');
  // A folder without profiles: who runs the tests may be signed in.
  assert.throws(() => loadConfig({}, { SVC_API_KEY: '', XDG_CONFIG_HOME: keyFile }), { message: /no API key/ });
  assert.throws(() => loadConfig({ keyFile: '/absent' }, {}), { message: 'cannot read the key file /absent: ENOENT' });
});

test('a key that no header can carry is refused without being shown', () => {
  for (const key of ['two words', 'line\nline', 'schlüssel', ' ']) {
    assert.throws(
      () => loadConfig({ key }, {}),
      (error: Error) => !error.message.includes(key.trim() || 'x y'),
    );
  }
});

test('a key file that every user can read and a key sent unencrypted are warned about', async (t) => {
  const keyFile = join(await temporaryDirectory(t), 'key');
  await writeFile(keyFile, 'key', { mode: 0o644 });
  const { warnings } = loadConfig({ keyFile, url: 'http://example.org/' }, {});
  assert.equal(warnings.length, 2);
  assert.deepEqual(loadConfig({ key: 'k', url: 'http://localhost:1' }, {}).warnings, []);
});

test('the gateway comes from --url, else SVC_BASE_URL, else the platform of the clone, else this machine', () => {
  assert.equal(loadConfig({ key: 'k', url: 'https://a/' }, { SVC_BASE_URL: 'https://b' }).url, 'https://a');
  assert.equal(loadConfig({ key: 'k' }, { SVC_BASE_URL: 'https://b' }).url, 'https://b');
  const platform = { SVC_LOCAL_URL: 'http://127.0.0.1:9' };
  assert.equal(loadConfig({ key: 'k' }, { ...platform, SVC_BASE_URL: 'https://b' }).url, 'https://b');
  assert.equal(loadConfig({ key: 'k' }, platform).url, 'http://127.0.0.1:9');
  assert.equal(loadConfig({ key: 'k' }, platform).childEnvironment['SVC_LOCAL_URL'], undefined);
  assert.equal(loadConfig({ key: 'k' }, {}).url, 'http://localhost:8787');
  for (const url of ['ftp://a', 'nonsense', 'https://user:pass@a']) {
    assert.throws(() => loadConfig({ key: 'k', url }, {}), { name: 'CommandError' });
  }
});

test('the state directory is --state-dir, else svc below XDG_CONFIG_HOME, else below ~/.config', () => {
  assert.equal(loadConfig({ key: 'k', stateDir: '/s' }, { XDG_CONFIG_HOME: '/x' }).stateDir, '/s');
  assert.equal(loadConfig({ key: 'k' }, { XDG_CONFIG_HOME: '/x' }).stateDir, '/x/svc');
  assert.match(loadConfig({ key: 'k' }, { XDG_CONFIG_HOME: 'relative' }).stateDir, /\/\.config\/svc$/);
});

const profile = (url: string, key: string): Profile => ({
  url,
  key,
  key_id: 'k1',
  account: null,
  scopes: [],
  device: '0b9f0e5c-4c0e-4f43-8a55-0d1b8f3f0001',
});

/** An environment in which two people are signed in, at two platforms. */
async function signedIn(context: TestContext): Promise<Record<string, string>> {
  const base = await temporaryDirectory(context);
  await writeProfile(join(base, 'svc'), 'default', profile('https://a.example', 'key-a'));
  await writeProfile(join(base, 'svc'), 'work', profile('https://b.example', 'key-b'));
  return { XDG_CONFIG_HOME: base };
}

test('key and address of a sign-in count where no other key is given; a profile that a flag names wins over the environment', async (t) => {
  const home = await signedIn(t);
  const of = (options: Parameters<typeof loadConfig>[0], environment: Record<string, string> = {}) => {
    const { key, url } = loadConfig(options, { ...home, ...environment });
    return `${key} ${url}`;
  };
  assert.equal(of({}), 'key-a https://a.example');
  assert.equal(of({}, { SVC_LOCAL_URL: 'http://127.0.0.1:9' }), 'key-a https://a.example');
  assert.equal(of({}, { SVC_PROFILE: 'work' }), 'key-b https://b.example');
  assert.equal(of({}, { SVC_API_KEY: 'env' }), 'env http://localhost:8787');
  assert.equal(of({ profile: 'work' }, { SVC_API_KEY: 'env' }), 'key-b https://b.example');
  assert.equal(of({ key: 'flag' }, { SVC_PROFILE: 'work' }), 'flag http://localhost:8787');
  assert.throws(() => of({ profile: 'gone' }), { message: /nobody is signed in as the profile "gone": svc login/ });
});

test('the key of a sign-in goes to no other gateway and no other relay', async (t) => {
  const home = await signedIn(t);
  const load = (options: Parameters<typeof loadConfig>[0], environment: Record<string, string> = {}) =>
    loadConfig(options, { ...home, ...environment });
  const refusal = { message: /the profile "\w+" is signed in at https:\/\/\w\.example, not at / };
  assert.throws(() => load({ url: 'https://b.example' }), refusal);
  assert.throws(() => load({ url: 'http://a.example' }), refusal);
  assert.throws(() => load({}, { SVC_BASE_URL: 'https://b.example' }), refusal);
  assert.throws(() => load({ profile: 'work', url: 'https://a.example' }), refusal);
  assert.equal(load({ profile: 'work' }, { SVC_BASE_URL: 'https://a.example' }).url, 'https://b.example');
  assert.equal(load({ url: 'https://a.example/' }).key, 'key-a');
  const relay = { SVC_RELAY_URL: 'https://relay.example' };
  const aside = load({}, relay);
  assert.equal(aside.relayUrl, 'https://a.example/relay');
  assert.match(aside.warnings.join(), /SVC_RELAY_URL is left aside/);
  assert.equal(load({ url: 'https://a.example' }, relay).relayUrl, 'https://relay.example');
});

test('nobody serves a host with a sign-in', async (t) => {
  const home = await signedIn(t);
  assert.throws(() => loadConfig({}, home, 'given'), { message: /no API key: .+ a host has one of its own/ });
  assert.equal(loadConfig({}, home, 'optional').key, '');
  assert.equal(loadConfig({ profile: 'work' }, { ...home, SVC_API_KEY: 'env' }, 'given').key, 'env');
});

test('one signs in at the address that is given, else of the environment, the clone, the profile', async (t) => {
  const home = await signedIn(t);
  const at = findSignIn({ profile: 'work' }, home);
  const clone = { SVC_LOCAL_URL: 'http://127.0.0.1:9' };
  assert.equal(loginUrl('https://c.example/', at, clone), 'https://c.example');
  assert.equal(loginUrl(undefined, at, { ...clone, SVC_BASE_URL: 'https://d.example' }), 'https://d.example');
  assert.equal(loginUrl(undefined, at, clone), 'http://127.0.0.1:9');
  assert.equal(loginUrl(undefined, at, {}), 'https://b.example');
  const nobody = findSignIn({ profile: 'new' }, home);
  assert.throws(() => loginUrl(undefined, nobody, {}), { message: /give the address of the platform/ });
});

test('a browser is there on a desktop before which the person sits, and gets no key', () => {
  const looks = (environment: Record<string, string>, platform: NodeJS.Platform = 'linux', isTerminal = true) =>
    lookAtScreen(isTerminal, environment, platform).hasBrowser;
  assert.ok(
    looks({ DISPLAY: ':0' }) && looks({ WAYLAND_DISPLAY: 'wayland-0' }) && looks({}, 'darwin') && looks({}, 'win32'),
  );
  assert.ok(!looks({}) && !looks({ DISPLAY: ':0' }, 'linux', false));
  for (const platform of ['linux', 'darwin', 'win32'] as const)
    assert.ok(!looks({ DISPLAY: ':0', SSH_CONNECTION: '1 2 3 4' }, platform));
  const { browsers, environment } = lookAtScreen(
    true,
    { BROWSER: 'firefox --new-tab %s:links', SVC_API_KEY: 'k' },
    'linux',
  );
  assert.deepEqual(browsers, ['firefox --new-tab %s', 'links']);
  assert.equal(environment['SVC_API_KEY'], undefined);
});
