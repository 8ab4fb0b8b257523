import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from './config.ts';
import { backups } from './doctor.backups.ts';
import type { Db } from './kernel/db/db.ts';

test('a database that does not say where backups go is a fault, one without tables is none', async () => {
  const checkAt = async (code: string) => {
    const db = (() => Promise.reject(Object.assign(new Error('it failed'), { code }))) as unknown as Db;
    return backups(loadConfig({}, {}), 'x', { db });
  };
  assert.equal((await checkAt('42P01')).ok, true);
  const { ok, found } = await checkAt('57014');
  assert.deepEqual([ok, found], [false, 'it failed']);
});
