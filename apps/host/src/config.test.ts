import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from './config.ts';
import { temporaryDirectory } from './testing.ts';

test('the key comes from --key, else the key file, else SVC_API_KEY', async (t) => {
  const keyFile = join(await temporaryDirectory(t), 'key');
  await writeFile(keyFile, 'from-file\n', { mode: 0o600 });
  assert.equal(loadConfig({ key: 'given', keyFile }, { SVC_API_KEY: 'env' }).key, 'given');
  assert.equal(loadConfig({ keyFile }, { SVC_API_KEY: 'env' }).key, 'from-file');
  assert.equal(loadConfig({}, { SVC_API_KEY: 'env' }).key, 'env');
  assert.throws(() => loadConfig({}, { SVC_API_KEY: '' }), { message: /no API key/ });
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
  assert.equal(loadConfig({ key: 'k' }, {}).url, 'http://127.0.0.1:8787');
  for (const url of ['ftp://a', 'nonsense', 'https://user:pass@a']) {
    assert.throws(() => loadConfig({ key: 'k', url }, {}), { name: 'CommandError' });
  }
});

test('the state directory is --state-dir, else svc below XDG_CONFIG_HOME, else below ~/.config', () => {
  assert.equal(loadConfig({ key: 'k', stateDir: '/s' }, { XDG_CONFIG_HOME: '/x' }).stateDir, '/s');
  assert.equal(loadConfig({ key: 'k' }, { XDG_CONFIG_HOME: '/x' }).stateDir, '/x/svc');
  assert.match(loadConfig({ key: 'k' }, { XDG_CONFIG_HOME: 'relative' }).stateDir, /\/\.config\/svc$/);
});
