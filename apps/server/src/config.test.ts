import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError, loadConfig, type SettingName, settingFlags, unknownSettings } from './config.ts';

describe('settings', () => {
  test('have the documented defaults', () => {
    const config = loadConfig({}, {});
    assert.deepEqual(
      [config.port, config.host, config.dataRegion, config.appScheme, config.logLevel, config.billing],
      [8787, '127.0.0.1', 'eu-local', 'svc', 'info', false],
    );
    assert.equal(config.baseUrl, 'http://127.0.0.1:8787');
    assert.deepEqual(
      [config.hubUrl, config.authUrl, config.relayUrl, config.resolveUrl],
      ['hub', 'auth', 'relay', 'resolve'].map((name) => `http://127.0.0.1:8787/${name}`),
    );
    assert.deepEqual(config.fetchPorts, [80, 443]);
    assert.deepEqual([config.rates.search, config.rates.fetch], [30, 60]);
    assert.equal(config.previewPort, 8788);
    assert.ok(Object.isFrozen(config));
  });

  test('a malformed one is told in one line that names it', () => {
    const malformed: [SettingName, string][] = [
      ['SVC_PORT', 'eighty'],
      ['SVC_PORT', '70000'],
      ['SVC_DATABASE_URL', 'mysql://x'],
      ['SVC_DATABASE_URL', 'nonsense'],
      ['SVC_NATS_URL', 'http://x'],
      ['SVC_S3_ENDPOINT', 'x'],
      ['SVC_S3_BUCKET', 'x'],
      ['SVC_MASTER_KEY', 'short'],
      ['SVC_BASE_URL', 'ftp://x'],
      ['SVC_HUB_URL', 'x'],
      ['SVC_BILLING', 'maybe'],
      ['SVC_FETCH_PORTS', '80,http'],
      ['SVC_RATE_REQUESTS', '0'],
      ['SVC_RATE_SEARCH', 'many'],
      ['SVC_APP_SCHEME', '1x'],
      ['SVC_METRICS_PORT', '-1'],
      ['SVC_PREVIEW_PORT', 'x'],
      ['SVC_LOG_LEVEL', 'loud'],
      ['SVC_DATA_REGION', 'x'.repeat(65)],
    ];
    for (const [name, value] of malformed) {
      assert.throws(
        () => loadConfig({}, { [name]: value }),
        (error: unknown) =>
          error instanceof ConfigError && error.message.startsWith(`${name}:`) && !error.message.includes('\n'),
        `${name}=${value}`,
      );
    }
  });

  test('that belong together are asked for together', () => {
    assert.throws(() => loadConfig({}, { SVC_TLS_CERT: 'a' }), /SVC_TLS_CERT and SVC_TLS_KEY/);
    assert.throws(() => loadConfig({}, { SVC_S3_ENDPOINT: 'http://x' }), /SVC_S3_BUCKET/);
    assert.throws(
      () => loadConfig({}, { SVC_S3_BUCKET: 'abc', SVC_S3_ACCESS_KEY_ID: 'a' }),
      /SVC_S3_SECRET_ACCESS_KEY/,
    );
  });

  test('are overridden by flags of the same name', () => {
    assert.equal(loadConfig({ SVC_PORT: '1' }, { SVC_PORT: '2' }).port, 1);
    assert.ok(settingFlags().some(({ name, flag }) => name === 'SVC_DATA_DIR' && flag === '--data-dir'));
  });

  test('an unknown one is found, a client’s key is not', () => {
    assert.deepEqual(unknownSettings({ SVC_PROT: '1', SVC_API_KEY: 'x', PATH: '/' }), ['SVC_PROT']);
  });

  test('an empty one counts as not set', () => {
    assert.equal(loadConfig({}, { SVC_PORT: '' }).port, 8787);
  });
});
