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
