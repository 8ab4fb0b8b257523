import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseSettings } from './config.file.ts';
import { ConfigError, loadConfig, type SettingName, settingRows, unknownSettings } from './config.ts';
import { secretOfFlag } from './config.secrets.ts';

const load = (environment: Record<string, string>, flags: Partial<Record<SettingName, string>> = {}) =>
  loadConfig(flags, environment);
const faultOf = (environment: Record<string, string>, flags: Partial<Record<SettingName, string>> = {}): string => {
  try {
    load(environment, flags);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return 'was accepted';
};

describe('settings', () => {
  test('without any the defaults are those of the launch contract', () => {
    const config = load({});
    assert.deepEqual(
      [config.port, config.host, config.dataDir, config.databaseUrl, config.natsUrl, config.s3, config.masterKey],
      [8787, '127.0.0.1', undefined, undefined, undefined, undefined, undefined],
    );
    assert.deepEqual(
      [config.baseUrl, config.hubUrl, config.authUrl, config.relayUrl, config.resolveUrl],
      ['', '/hub', '/auth', '/relay', '/resolve'].map((path) => `http://localhost:8787${path}`),
    );
    assert.deepEqual(
      [config.previewDomain, config.previewPort, config.metrics],
      [undefined, 8788, { host: '127.0.0.1', port: 8789, required: false }],
    );
    assert.deepEqual([config.billing, config.fetchAllowHosts, config.fetchPorts], [false, [], [80, 443]]);
    assert.deepEqual([config.dataRegion, config.appScheme, config.logLevel], ['eu-local', 'svc', 'info']);
    assert.deepEqual([config.tls, config.providersFile], [undefined, undefined]);
    assert.ok(Object.isFrozen(config));
  });

  test('a comment behind a value in the settings file is no part of it, a # within one or in quotes is', () => {
    const lines = [
      'SVC_BACKUP_DIR=/mnt/nas # every night',
      'SVC_DATA_REGION=a#b',
      `SVC_APP_SCHEME='c # d' # e`,
      'SVC_LOG_LEVEL="f" # g "h"',
      'SVC_HOST= # none',
      'SVC_MASTER_KEY=#k3y of a sort',
    ];
    assert.deepEqual(parseSettings(lines.join('\n'), 'settings.env'), {
      SVC_BACKUP_DIR: '/mnt/nas',
      SVC_MASTER_KEY: '#k3y of a sort',
      SVC_DATA_REGION: 'a#b',
      SVC_APP_SCHEME: 'c # d',
      SVC_LOG_LEVEL: 'f',
      SVC_HOST: '',
    });
  });

  test('an empty variable counts as none', () => {
    const names = settingRows().map(({ name }) => [name, '']);
    assert.deepEqual(load(Object.fromEntries(names)), load({}));
  });

  test('the name of a platform on this machine is localhost, but where it listens at another number of the loopback', () => {
    for (const host of ['127.0.0.1', 'localhost', '::1', '0.0.0.0'])
      assert.equal(load({ SVC_HOST: host }).baseUrl, 'http://localhost:8787', host);
    assert.equal(load({ SVC_HOST: '127.0.0.9' }).baseUrl, 'http://127.0.0.9:8787');
  });

  test('a proxy on this machine is trusted by both of its addresses', () => {
    assert.deepEqual(load({ SVC_TRUSTED_PROXIES: '127.0.0.1' }).trustedProxies, ['127.0.0.1', '::1']);
  });

  test('an endpoint of a bucket with a user in it is refused with where the keys go, and is not repeated', () => {
    for (const name of ['SVC_S3', 'SVC_BACKUP_S3']) {
      const message = faultOf({ [`${name}_ENDPOINT`]: 'https://id:hidden-value@s3.example.com' });
      assert.match(message, new RegExp(`^${name}_ENDPOINT: .*set ${name}_ACCESS_KEY_ID and ${name}_SECRET_ACCESS_KEY`));
      assert.ok(!message.includes('hidden-value'));
    }
  });

  test('a flag wins over the environment', () => {
    assert.equal(load({ SVC_PORT: '1' }, { SVC_PORT: '2' }).port, 2);
    assert.equal(load({ SVC_PORT: '1' }, {}).port, 1);
  });

  const malformed: Partial<Record<SettingName, string[]>> = {
    SVC_PORT: ['x', '-1', '65536', '1.5', '80 81', ' ', 'Infinity', '0x50', '1e3'],
    SVC_DATABASE_URL: ['localhost', 'mysql://x', 'http://x', '/tmp/socket'],
    SVC_DATABASE_POOL: ['1', '101', 'x'],
    SVC_CORS_ORIGINS: [
      '*',
      'app.example.com',
      'https://app.example.com/',
      'https://APP.example.com',
      'https://a.b:443',
    ],
    SVC_TRUSTED_PROXIES: ['proxy.example.com', '10.0.0.0/33', '0.0.0.0/0', '10.0.0.0/', '::1/129', 'fe80::1%eth0'],
    SVC_NATS_URL: ['localhost:4222', 'http://x', 'amqp://x'],
    SVC_S3_ENDPOINT: ['minio:9000', 'ftp://x', 'https://id:hidden@s3.example.com', 'https://id@s3.example.com'],
    SVC_BACKUP_S3_ENDPOINT: ['ftp://x', 'https://id:hidden@s3.example.com'],
    SVC_S3_BUCKET: ['ab', 'x'.repeat(64)],
    SVC_MASTER_KEY: ['short', 'x'.repeat(31)],
    SVC_SMTP_URL: ['mail.example.com', 'http://x', 'smtp'],
    SVC_MAIL_FROM: ['nobody', 'a@b, c@d', 'A <a@b> <c@d>', 'a@b\r\nBcc: c@d'],
    SVC_BASE_URL: [
      'example.com',
      'ftp://x',
      '//x',
      'https://home.example.com/svc',
      'https://x.example/?a',
      'https://u:p@x',
    ],
    SVC_HUB_URL: ['hub'],
    SVC_AUTH_URL: ['auth'],
    SVC_RELAY_URL: ['relay'],
    SVC_RESOLVE_URL: ['resolve'],
    SVC_PREVIEW_PORT: ['x', '70000'],
    SVC_BILLING: ['yes', 'ON', '2'],
    SVC_ENVIRONMENT_INCLUDED_HOURS: ['-1', 'x', '745'],
    SVC_FETCH_PORTS: ['80,x', '70000', '80;443'],
    SVC_RATE_REQUESTS: ['0', '-5', 'many', '1.5'],
    SVC_RATE_SEARCH: ['0', 'x'],
    SVC_RATE_FETCH: ['0', 'x'],
    SVC_DATA_REGION: ['r'.repeat(65)],
    SVC_APP_SCHEME: ['Svc', '1a', 'a b', 'svc://'],
    SVC_METRICS_PORT: ['x', '-1'],
    SVC_LOG_LEVEL: ['verbose', 'INFO'],
  };
  for (const [name, values] of Object.entries(malformed)) {
    test(`a malformed ${name} stops the start with one line that names it`, () => {
      for (const value of values) {
        const message = faultOf({ [name]: value });
        assert.match(message, new RegExp(`^${name}: [^\\n]+$`), `${JSON.stringify(value)}: ${message}`);
        if (name === 'SVC_MASTER_KEY') assert.ok(!message.includes(value), 'a secret is not repeated');
      }
    });
  }

  test('an empty flag is malformed, not a zero', () => {
    assert.match(faultOf({}, { SVC_PORT: '' }), /^SVC_PORT: /);
  });

  test('pairs are set both or none: TLS, S3 keys, S3 endpoint with bucket', () => {
    for (const one of ['SVC_TLS_CERT', 'SVC_TLS_KEY']) {
      assert.match(faultOf({ [one]: '/x.pem' }), /SVC_TLS_CERT and SVC_TLS_KEY/);
    }
    const bucket = { SVC_S3_BUCKET: 'bucket' };
    for (const one of ['SVC_S3_ACCESS_KEY_ID', 'SVC_S3_SECRET_ACCESS_KEY']) {
      const message = faultOf({ ...bucket, [one]: 'hidden-value' });
      assert.match(message, /SVC_S3_ACCESS_KEY_ID and SVC_S3_SECRET_ACCESS_KEY/);
      assert.ok(!message.includes('hidden-value'));
    }
    assert.match(faultOf({ SVC_S3_ENDPOINT: 'http://minio:9000' }), /^SVC_S3_BUCKET: /);
    const s3 = load({ ...bucket, SVC_S3_ENDPOINT: 'http://minio:9000/' }).s3;
    assert.deepEqual([s3?.bucket, s3?.endpoint, s3?.region], ['bucket', 'http://minio:9000', 'us-east-1']);
    const tls = load({ SVC_TLS_CERT: 'c', SVC_TLS_KEY: 'k' });
    assert.deepEqual([tls.tls, tls.baseUrl], [{ certFile: 'c', keyFile: 'k' }, 'https://localhost:8787']);
  });

  test('what the bucket of backups does not say for itself is as that of blobs; its keys are set both or none', () => {
    const blobs = {
      SVC_S3_BUCKET: 'bucket',
      SVC_S3_ENDPOINT: 'http://minio:9000',
      SVC_S3_REGION: 'blob-region',
      SVC_S3_ACCESS_KEY_ID: 'blob-id',
      SVC_S3_SECRET_ACCESS_KEY: 'blob-secret',
    };
    const shared = load(blobs).s3Access;
    assert.equal(load(blobs).backup.s3, undefined);
    const endpoint = load({ ...blobs, SVC_BACKUP_S3_ENDPOINT: 'http://other:9000' }).backup.s3;
    assert.deepEqual(endpoint, { ...shared, endpoint: 'http://other:9000' });
    assert.deepEqual(load({ ...blobs, SVC_BACKUP_S3_REGION: 'r' }).backup.s3, { ...shared, region: 'r' });
    const keys = { SVC_BACKUP_S3_ACCESS_KEY_ID: 'id', SVC_BACKUP_S3_SECRET_ACCESS_KEY: 'hidden-value' };
    const own = { ...shared, accessKeyId: 'id', secretAccessKey: 'hidden-value' };
    assert.deepEqual(load({ ...blobs, ...keys }).backup.s3, own);
    for (const [name, value] of Object.entries(keys)) {
      const message = faultOf({ ...blobs, [name]: value });
      assert.match(message, /SVC_BACKUP_S3_ACCESS_KEY_ID and SVC_BACKUP_S3_SECRET_ACCESS_KEY/);
      assert.ok(!message.includes('hidden-value'));
    }
  });

  test('a mail server needs a sender; what is wrong is told without the address of either', () => {
    const message = faultOf({ SVC_SMTP_URL: 'smtp://user:hidden-value@mail.example.com' });
    assert.match(message, /^SVC_MAIL_FROM: /);
    assert.ok(!message.includes('hidden-value'));
    assert.ok(!faultOf({ SVC_SMTP_URL: 'http://user:hidden-value@mail.example.com' }).includes('hidden-value'));
    const { mail } = load({ SVC_SMTP_URL: 'smtp://mail.example.com:587', SVC_MAIL_FROM: 'svc <bot@example.com>' });
    assert.deepEqual(mail, { smtpUrl: 'smtp://mail.example.com:587', from: 'svc <bot@example.com>' });
    assert.equal(load({ SVC_MAIL_FROM: 'bot@example.com' }).mail, undefined);
  });

  test('as many connections as the machine has cores and two, from 4 to 10, unless the setting says how many', () => {
    const most = Math.min(Math.max(availableParallelism() + 2, 4), 10);
    assert.deepEqual([load({}).databasePool, load({ SVC_DATABASE_POOL: '25' }).databasePool], [most, 25]);
  });

  test('addresses follow the base URL, slashes at its end aside', () => {
    const config = load({ SVC_BASE_URL: 'https://api.example.com//', SVC_HUB_URL: 'https://hub.example.com' });
    assert.deepEqual(
      [config.baseUrl, config.hubUrl, config.authUrl],
      ['https://api.example.com', 'https://hub.example.com', 'https://api.example.com/auth'],
    );
  });

  test('ports derived from the last ports are ports', () => {
    for (const port of ['65534', '65535']) {
      const config = load({ SVC_PORT: port });
      assert.ok(config.previewPort <= 65_535 && config.metrics.port <= 65_535, port);
    }
    assert.deepEqual([load({ SVC_PORT: '0' }).previewPort, load({ SVC_PORT: '0' }).metrics.port], [0, 0]);
  });

  test('unknown SVC_ names are told, names of clients and others are not', () => {
    const environment = {
      SVC_PROT: '1',
      SVC_API_KEY: 'k',
      SVC_PROFILE: 'p',
      PATH: '/',
      SVC_PORT: '1',
      SVCX: '1',
      svc_port: '1',
    };
    assert.deepEqual(unknownSettings(environment), ['SVC_PROT']);
  });

  test('a secret comes from the environment or a file, never from the command line', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-config-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'secret');
    writeFileSync(file, `${'k'.repeat(40)}\n`);
    assert.equal(load({ SVC_MASTER_KEY_FILE: file }).masterKey, 'k'.repeat(40));
    assert.equal(load({}, { SVC_MASTER_KEY_FILE: file }).masterKey, 'k'.repeat(40));
    assert.equal(load({ SVC_MASTER_KEY_FILE: file, SVC_MASTER_KEY: 'e'.repeat(40) }).masterKey, 'e'.repeat(40));
    const missing = faultOf({ SVC_MASTER_KEY_FILE: join(folder, 'none') });
    assert.match(missing, /^SVC_MASTER_KEY_FILE: cannot read .*none: ENOENT$/);
    const names = new Set(settingRows().flatMap(({ flags }) => flags.map(({ flag }) => flag)));
    for (const [flag, name] of [
      ['--master-key', 'SVC_MASTER_KEY'],
      ['--s3-secret-access-key', 'SVC_S3_SECRET_ACCESS_KEY'],
    ] as const) {
      assert.deepEqual([names.has(flag), names.has(`${flag}-file`), secretOfFlag(flag)], [false, true, name]);
    }
    for (const [name, url] of [
      ['SVC_DATABASE_URL', 'postgres://u:hidden-value@db/svc'],
      ['SVC_DATABASE_URL', 'postgres://db/svc?password=hidden-value'],
      ['SVC_NATS_URL', 'nats://hidden-value@bus'],
      ['SVC_SMTP_URL', 'smtp://u:hidden-value@mail'],
    ] as const) {
      const message = faultOf({}, { [name]: url });
      assert.match(message, new RegExp(`; set ${name}, or give --[a-z-]+-file <path>$`));
      assert.ok(!message.includes('hidden-value'));
    }
    assert.equal(load({}, { SVC_DATABASE_URL: 'postgres://u@db/svc' }).databaseUrl, 'postgres://u@db/svc');
    assert.equal(load({ SVC_DATABASE_URL: 'postgres://u:p@db/svc' }).databaseUrl, 'postgres://u:p@db/svc');
    assert.deepEqual(unknownSettings({ SVC_MASTER_KEY_FILE: 'x', SVC_PORT_FILE: 'x' }), ['SVC_PORT_FILE']);
  });

  test('every setting has a flag and a description', () => {
    for (const { name, flags, description } of settingRows()) {
      assert.ok(flags.length > 0, name);
      for (const { flag, gives } of flags) {
        assert.equal(`SVC_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`, gives);
      }
      assert.ok(description.length > 3, name);
    }
  });
});
