import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsHere } from './settings.ts';

test('a settings file that names files of another machine is one that this machine can start with', () => {
  const given = [
    'SVC_PORT=8080',
    '# a comment',
    'SVC_MASTER_KEY_FILE=/nowhere/master.key',
    'SVC_SMTP_URL_FILE="/nowhere/smtp"',
    `SVC_BACKUP_PASSPHRASE_FILE=${import.meta.filename}`,
    'SVC_TLS_CERT=/nowhere/cert.pem',
    'a line that is none',
  ];
  const { text, missing } = settingsHere(given.join('\n'));
  assert.deepEqual(missing, ['SVC_SMTP_URL_FILE', 'SVC_TLS_CERT']);
  assert.deepEqual(
    text.split('\n').map((line) => line.startsWith('#')),
    [false, true, true, true, false, true, false],
  );
});

test('of a settings file without a seal only what names no place counts', () => {
  const given = [
    'SVC_PORT=8080',
    'SVC_LOG_LEVEL=warn',
    'SVC_BASE_URL=https://elsewhere.example',
    'SVC_SANDBOXD_SOCKET=sock',
    'SVC_BACKUP_DIR=backups',
    'SVC_PROVIDERS=/etc/passwd',
    'SVC_DNS_SERVERS=10.0.0.1',
    'SVC_HOST=0.0.0.0',
  ];
  const { text, unproven } = settingsHere(given.join('\n'), false);
  assert.deepEqual(
    text.split('\n').filter((line) => !line.startsWith('#')),
    ['SVC_PORT=8080', 'SVC_LOG_LEVEL=warn'],
  );
  assert.equal(unproven.length, 6);
});
