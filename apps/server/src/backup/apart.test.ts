import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../config.ts';
import { environmentOf, nextLevel } from './apart.ts';
import { configAt } from './place.ts';

test('the process that makes backups reaches the bucket that was chosen, whatever else settings say of one', () => {
  const blobs = { SVC_S3_BUCKET: 'blobs', SVC_S3_ENDPOINT: 'http://minio:9000' };
  const other = {
    SVC_BACKUP_S3_ENDPOINT: 'http://other:9000',
    SVC_BACKUP_S3_ACCESS_KEY_ID: 'other',
    SVC_BACKUP_S3_SECRET_ACCESS_KEY: 'other-secret',
  };
  const given = { ...blobs, ...other };
  const chosen = { place: 's3://bucket/x', access: { region: 'eu-west-1', accessKeyId: 'id' } };
  const config = configAt(loadConfig({}, given), chosen, 'secret');
  const environment = environmentOf(config, { ...given, SVC_BACKUP_S3_SECRET_ACCESS_KEY_FILE: '/x' });
  // The settings file says the same of the other one.
  const maker = loadConfig({}, environment, given);
  assert.deepEqual(maker.backup.s3, {
    endpoint: 'https://s3.eu-west-1.amazonaws.com',
    region: 'eu-west-1',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  });
  assert.equal(environment['SVC_BACKUP_S3_SECRET_ACCESS_KEY_FILE'], undefined);
});

test('a command apart is hurried to the share of its starter, and never past it', () => {
  assert.deepEqual([nextLevel(19, 0), nextLevel(1, 0), nextLevel(0, 0)], [18, 0, 0]);
  assert.deepEqual([nextLevel(12, 11), nextLevel(11, 11)], [11, 11]);
});
