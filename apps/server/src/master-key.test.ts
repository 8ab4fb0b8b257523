import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { glob } from 'node:fs/promises';
import { loadConfig } from './config.ts';
import { sealedScheduleHeaders } from './features/schedules/index.ts';
import { allSealed, masterKeyFile, openKeyring, rotateMasterKey } from './master-key.ts';
import { openDatabase } from './kernel/db/db.ts';
import { http, masterKey, openTest, startGateway, type TestDatabase, testDatabase } from './testing.ts';

/** What reaches a test's database as the settings of a platform do. */
function urlOf({ target }: TestDatabase): string {
  if (!('embedded' in target)) throw new Error('test databases are embedded');
  const { socketDir, user } = target.embedded;
  return `postgres://${user}@${encodeURIComponent(socketDir)}/${target.database}`;
}

describe('rotation of the master key', () => {
  const folder = (): string => mkdtempSync(join(tmpdir(), 'svc-rotate-'));
  const config = (database: TestDatabase, dataDir: string, key?: string) =>
    loadConfig(
      {},
      { SVC_DATABASE_URL: urlOf(database), SVC_DATA_DIR: dataDir, ...(key !== undefined && { SVC_MASTER_KEY: key }) },
    );

  test('keys, stored answers and sealed values go on under the new key; the old one is refused', async (t) => {
    const dataDir = folder();
    t.after(() => rmSync(dataDir, { recursive: true }));
    writeFileSync(join(dataDir, masterKeyFile), masterKey);
    await using database = await testDatabase();
    let key = '';
    const body = {
      name: 'once',
      kind: 'http',
      spec: { url: 'https://example.com', headers: { 'x-key': 'secret' } },
      trigger: { type: 'event', trigger_id: 'x' },
      policy: { approval: 'always' },
    };
    const headers = { 'idempotency-key': 'rotated' };
    let first = '';
    let vapid = '';
    const hook = { name: 'x', url: 'https://93.184.215.14/x' };
    const hooks = '/v1/notifications/webhooks';
    {
      await using own = await openTest({ database });
      key = own.account.key;
      const answer = await http(own.gateway.url, '/v1/schedules', { key, body, headers });
      assert.equal(answer.status, 201);
      first = answer.body.id;
      vapid = (await http(own.gateway.url, '/v1/push/vapid-key', { key })).body.public_key;
      assert.equal((await http(own.gateway.url, hooks, { key, body: hook })).status, 201);
      const run = await http(own.gateway.url, `/v1/schedules/${first}/run`, { method: 'POST', key });
      assert.equal(run.body.queued, true);
      await assert.rejects(rotateMasterKey(config(database, dataDir), undefined), /stop every part/);
      assert.deepEqual(readdirSync(dataDir), [masterKeyFile], 'a refusal leaves nothing');
    }
    const { sealed } = await rotateMasterKey(config(database, dataDir), undefined);
    assert.equal(sealed, 5, 'an answer, the push identity, headers of a schedule and of its run, a webhook');
    assert.deepEqual(readdirSync(dataDir), [masterKeyFile]);
    const after = readFileSync(join(dataDir, masterKeyFile), 'utf8').trim();
    assert.notEqual(after, masterKey);
    await assert.rejects(startGateway(database), /set up with another master key/);
    // A second one, with a key of the operator's own: the first key of all is still what hashes were made with.
    const file = join(dataDir, 'mine');
    writeFileSync(file, `${'m'.repeat(40)}\n`, { mode: 0o600 });
    await rotateMasterKey(config(database, dataDir, after), file);
    await using gateway = await startGateway(database, { settings: { SVC_MASTER_KEY: 'm'.repeat(40) } });
    const again = await http(gateway.url, '/v1/schedules', { key, body, headers });
    assert.deepEqual([again.status, again.body.id], [201, first]);
    assert.equal((await http(gateway.url, '/v1/push/vapid-key', { key })).body.public_key, vapid);
    assert.equal((await http(gateway.url, hooks, { key })).body.webhooks[0].url, hook.url);
    const rows = await gateway.kernel.sql<{ sealed_headers: Buffer }[]>`
      select sealed_headers from schedules.schedules union all select sealed_headers from scheduler.runs`;
    const opened = rows.map((row) => gateway.kernel.keyring.open(sealedScheduleHeaders, row.sealed_headers).toString());
    assert.deepEqual(opened, Array(2).fill('{"x-key":"secret"}'));
  });

  test('one that is killed before its commit changed nothing; killed after it, the next run puts the key in place', async (t) => {
    const dataDir = folder();
    t.after(() => rmSync(dataDir, { recursive: true }));
    const keyFile = join(dataDir, masterKeyFile);
    const nextFile = join(dataDir, 'master.key.next');
    writeFileSync(keyFile, masterKey);
    await using database = await testDatabase();
    await (await startGateway(database)).close();
    // Before the commit: the next key waits in its file.
    writeFileSync(nextFile, 'n'.repeat(40));
    await (await startGateway(database)).close();
    await rotateMasterKey(config(database, dataDir), undefined);
    assert.equal(readFileSync(keyFile, 'utf8').trim(), 'n'.repeat(40));
    // After the commit: the files are as they were before it.
    writeFileSync(nextFile, 'n'.repeat(40));
    writeFileSync(keyFile, masterKey);
    const sql = openDatabase(database.target, 1);
    await assert.rejects(openKeyring(sql, masterKey, { dataDir }), /interrupted; finish it: .\/svc rotate-master-key/);
    await sql.end({ timeout: 1 });
    assert.equal((await rotateMasterKey(config(database, dataDir), undefined)).sealed, 0);
    assert.equal(readFileSync(keyFile, 'utf8').trim(), 'n'.repeat(40));
    assert.deepEqual(readdirSync(dataDir), [masterKeyFile]);
  });

  test('a key that is short, missing, or the one in use is refused, and nothing is changed', async (t) => {
    const dataDir = folder();
    t.after(() => rmSync(dataDir, { recursive: true }));
    await using database = await testDatabase();
    await (await startGateway(database)).close();
    const file = join(dataDir, 'key');
    for (const [text, refusal] of [
      ['short', /32 characters or more/],
      [masterKey, /is the one in use/],
    ] as const) {
      writeFileSync(file, text, { mode: 0o600 });
      await assert.rejects(rotateMasterKey(config(database, dataDir, masterKey), file), refusal);
    }
    await assert.rejects(rotateMasterKey(config(database, dataDir, masterKey), join(dataDir, 'none')), /must hold/);
    await assert.rejects(rotateMasterKey(config(database, dataDir, masterKey), undefined), /--new-key-file/);
    chmodSync(file, 0o644);
    await assert.rejects(rotateMasterKey(config(database, dataDir, masterKey), file), /chmod 600/);
    await assert.rejects(rotateMasterKey(config(database, dataDir, masterKey), dataDir), /must hold/);
    await assert.rejects(rotateMasterKey(config(database, dataDir), undefined), /there is no master key/);
    await (await startGateway(database)).close();
  });

  test('every sealed value of the source is in the list', async () => {
    const declared: string[] = [];
    for await (const file of glob('**/*.ts', { cwd: import.meta.dirname })) {
      if (/test(ing)?\.ts$|testing\./.test(file)) continue;
      const text = readFileSync(join(import.meta.dirname, file), 'utf8');
      declared.push(...[...text.matchAll(/export const (\w+): Sealed\b/g)].map((match) => match[1] as string));
    }
    assert.equal(declared.length, allSealed.length, declared.join(', '));
  });
});
