import assert from 'node:assert/strict';
import fs, { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, mock, test } from 'node:test';
import { glob } from 'node:fs/promises';
import { loadConfig } from './config.ts';
import { sealedScheduleHeaders } from './features/schedules/index.ts';
import { allSealed, masterKeyFile, openKeyring, rotateMasterKey } from './master-key.ts';
import { inTransaction, openDatabase } from './kernel/db/db.ts';
import { testClock } from './kernel/base/clock.ts';
import { createKeyring, openUnder } from './kernel/base/crypto.ts';
import { sealedDataKeys } from './features/environments/index.ts';
import { environmentOf } from './features/environments/environments.testing.ts';
import { sealedWebhook } from './features/notifications/index.ts';
import { asOwner, http, masterKey, openTest, startGateway, type TestDatabase, testDatabase, until } from './testing.ts';
import { waitingFor } from './testing.locks.ts';

/** The URL of a test's database, as in the settings of a platform. */
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
    let ping = '';
    let pingKey = '';
    let badge = '';
    let environment = '';
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
      const monitor = await http(own.gateway.url, '/v1/heartbeats', { key, body: { name: 'job', period_s: 60 } });
      ping = new URL(monitor.body.ping_url).pathname;
      pingKey = (await http(own.gateway.url, '/v1/heartbeats/ping-key', { method: 'POST', key })).body.ping_key;
      badge = (await http(own.gateway.url, '/v1/heartbeats/badge', { method: 'POST', key })).body.json_url;
      environment = await environmentOf(own.gateway, own.account);
      const put = { method: 'PUT', key, body: { value: 'canary' } };
      assert.equal((await http(own.gateway.url, `/v1/environments/${environment}/secrets/TOKEN`, put)).status, 201);
      const run = await http(own.gateway.url, `/v1/schedules/${first}/run`, { method: 'POST', key });
      assert.equal(run.body.queued, true);
      await assert.rejects(rotateMasterKey(config(database, dataDir), undefined), /stop every part/);
      assert.deepEqual(readdirSync(dataDir), [masterKeyFile], 'a refusal leaves nothing');
    }
    const { sealed } = await rotateMasterKey(config(database, dataDir), undefined);
    assert.equal(sealed, 6, 'an answer, the push identity, headers of a schedule and of its run, a webhook, a secret');
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
    assert.equal((await http(gateway.url, ping)).status, 200, 'the address of a monitor is known to its job alone');
    assert.equal((await http(gateway.url, `/ping/${pingKey}/job?create=1`)).status, 200, 'and a ping key too');
    assert.equal((await http(gateway.url, new URL(badge).pathname)).status, 200, 'and a badge');
    const rows = await gateway.kernel.sql<{ sealed_headers: Buffer }[]>`
      select sealed_headers from schedules.schedules union all select sealed_headers from scheduler.runs`;
    const opened = rows.map((row) => gateway.kernel.keyring.open(sealedScheduleHeaders, row.sealed_headers).toString());
    assert.deepEqual(opened, Array(2).fill('{"x-key":"secret"}'));
    const [secret] = await gateway.kernel.sql<{ data_key: Buffer; value: Buffer }[]>`
      select data_key, value from environments.secrets where environment_id = ${environment}`;
    assert.ok(secret);
    const dataKey = gateway.kernel.keyring.open(sealedDataKeys, secret.data_key);
    assert.equal(openUnder(dataKey, secret.value, 'secret', `${environment} TOKEN 1`).toString(), 'canary');
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
    // A caller who brings another key is not told to remove the only one that opens anything.
    const mine = join(dataDir, 'mine');
    writeFileSync(mine, 'm'.repeat(40), { mode: 0o600 });
    await assert.rejects(rotateMasterKey(config(database, dataDir), mine), /finish it .*never remove/);
    rmSync(mine);
    assert.equal((await rotateMasterKey(config(database, dataDir), undefined)).sealed, 0);
    assert.equal(readFileSync(keyFile, 'utf8').trim(), 'n'.repeat(40));
    assert.deepEqual(readdirSync(dataDir), [masterKeyFile]);
  });

  test('the next key is on disk with its name before anything is sealed with it, and so is the change of names', async (t) => {
    const dataDir = folder();
    t.after(() => rmSync(dataDir, { recursive: true }));
    writeFileSync(join(dataDir, masterKeyFile), masterKey);
    await using database = await testDatabase();
    await (await startGateway(database)).close();
    const synced: string[][] = [];
    const sync = mock.method(fs, 'fsyncSync', (open: number) => {
      if (readlinkSync(`/proc/self/fd/${open}`) === dataDir) synced.push(readdirSync(dataDir).sort());
    });
    syncBuiltinESMExports();
    try {
      await rotateMasterKey(config(database, dataDir), undefined);
    } finally {
      sync.mock.restore();
      syncBuiltinESMExports();
    }
    assert.deepEqual(synced, [[masterKeyFile, 'master.key.next'], [masterKeyFile]]);
  });

  test('a gateway that starts while a rotation runs does not start without its lease, nor with the key before', async (t) => {
    const dataDir = folder();
    t.after(() => rmSync(dataDir, { recursive: true }));
    await using database = await testDatabase();
    await (await startGateway(database)).close();
    const settings = { SVC_DATABASE_TIMEOUT_MS: '1000' };
    await asOwner(database, (sql) =>
      inTransaction(sql, async (db) => {
        // As a rotation that takes longer than a gateway waits for its database.
        await db`lock table kernel.gateways in share row exclusive mode`;
        await assert.rejects(startGateway(database, { settings }), { code: '57014' });
      }),
    );
    let starting: Promise<unknown> = Promise.resolve();
    await asOwner(database, (sql) =>
      inTransaction(sql, async (db) => {
        await db`lock table kernel.gateways in share row exclusive mode`;
        starting = assert.rejects(startGateway(database), /set up with another master key/);
        await until(() => asOwner(database, async (other) => (await waitingFor(other, 'kernel.gateways')) > 0));
        await db`update kernel.facts set value = '\\x00' where name = 'master_key'`;
      }),
    );
    await starting;
  });

  test('a part that was frozen while it wrote is named instead of waited for, and nothing is changed', async (t) => {
    const dataDir = folder();
    t.after(() => rmSync(dataDir, { recursive: true }));
    writeFileSync(join(dataDir, masterKeyFile), masterKey);
    await using own = await openTest();
    const { gateway, database } = own;
    await gateway.close();
    await asOwner(database, (sql) =>
      inTransaction(sql, async (db) => {
        await db`update kernel.gateways set lease_until = now()`;
        await assert.rejects(
          rotateMasterKey(config(database, dataDir), undefined, { lockMs: 100 }),
          /end it \(kill -9\)/,
        );
      }),
    );
    assert.equal(readFileSync(join(dataDir, masterKeyFile), 'utf8'), masterKey);
    // The same again, as it says.
    await rotateMasterKey(config(database, dataDir), undefined);
    assert.notEqual(readFileSync(join(dataDir, masterKeyFile), 'utf8').trim(), masterKey);
  });

  test('a gateway that was frozen while the key was rotated seals and opens nothing, and ends with the reason', async (t) => {
    const dataDir = folder();
    t.after(() => rmSync(dataDir, { recursive: true }));
    writeFileSync(join(dataDir, masterKeyFile), masterKey);
    const clock = testClock();
    const log = new PassThrough();
    const lines: string[] = [];
    log.setEncoding('utf8').on('data', (line: string) => lines.push(line));
    await using own = await openTest({ clock, log, settings: { SVC_LOG_LEVEL: 'fatal' } });
    const { gateway, account, database } = own;
    const { kernel, url } = gateway;
    const hook = { name: 'x', url: 'https://93.184.215.14/x' };
    const hooks = '/v1/notifications/webhooks';
    assert.equal((await http(url, hooks, { key: account.key, body: hook })).status, 201);
    // Its time stands still and its lease runs out, as when it was stopped.
    await kernel.sql`update kernel.gateways set lease_until = now() - interval '1 second'`;
    assert.equal((await rotateMasterKey(config(database, dataDir), undefined)).sealed, 1);
    clock.leap(11_000);
    assert.throws(() => kernel.keyring.seal({ purpose: 'x' }, Buffer.from('x')), { code: 'unavailable' });
    assert.equal((await http(url, hooks, { key: account.key, body: hook })).status, 503);
    assert.equal((await http(url, hooks, { key: account.key })).status, 503);
    await until(() => lines.some((line) => line.includes('the master key was rotated while this process was frozen')));
    assert.throws(() => kernel.keyring.open({ purpose: 'x' }, Buffer.alloc(40)), { code: 'unavailable' });
    assert.equal(kernel.gateways.cachesAreTrusted(), false);
    const rows = await kernel.sql<{ sealed: Buffer; enabled: boolean }[]>`
      select sealed, enabled from notifications.webhooks`;
    const keyring = createKeyring(readFileSync(join(dataDir, masterKeyFile), 'utf8').trim());
    const opened = rows.map(({ sealed }) => JSON.parse(keyring.open(sealedWebhook, sealed).toString()).url);
    assert.deepEqual([opened, rows[0]?.enabled], [[hook.url], true]);
  });

  test('a gateway whose bus comes back after a rotation ends at once, before its next renewal', async () => {
    const clock = testClock();
    await using own = await openTest({ clock, settings: { SVC_LOG_LEVEL: 'silent' } });
    const { gateways } = own.gateway.kernel;
    await asOwner(own.database, async (sql) => {
      await sql`update kernel.facts set value = '\\x00' where name = 'master_key'`;
      // The bus alone, whose last query this is: a renewal over a connection that is gone too would wait for the next one.
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and (query ilike 'listen%' or query = 'select 1')`;
    });
    // The bus tries again by itself; no renewal is due while the clock stands.
    await until(() => !gateways.isProven());
  });

  test('a value that cannot be opened is named by its table and id, and skipped when that is asked for', async (t) => {
    const dataDir = folder();
    t.after(() => rmSync(dataDir, { recursive: true }));
    writeFileSync(join(dataDir, masterKeyFile), masterKey);
    await using own = await openTest();
    const { gateway, account, database } = own;
    const hooks = '/v1/notifications/webhooks';
    const ids: string[] = [];
    for (const name of ['broken', 'fine']) {
      const body = { name, url: 'https://93.184.215.14/x' };
      const headers = { 'idempotency-key': name };
      ids.push((await http(gateway.url, hooks, { key: account.key, body, headers })).body.id);
    }
    const body = {
      name: 'kept',
      kind: 'http',
      spec: { url: 'https://a.test' },
      trigger: { type: 'event', trigger_id: 'x' },
    };
    await http(gateway.url, '/v1/schedules', { key: account.key, body, headers: { 'idempotency-key': 'answer' } });
    await gateway.kernel.sql`update notifications.webhooks set sealed = '\\x00' where id = ${ids[0] as string}`;
    await gateway.kernel.sql`update kernel.idempotency set response = ${Buffer.alloc(40)} where key = 'answer'`;
    await gateway.close();
    const named = `notifications.webhooks (id ${ids[0]})`;
    await assert.rejects(rotateMasterKey(config(database, dataDir), undefined), (error: Error) => {
      assert.ok(error.message.includes(named), error.message);
      assert.match(error.message, /kernel\.idempotency \(account_id .*, key answer\).*--skip-broken/);
      return true;
    });
    await (await startGateway(database)).close();
    const done = await rotateMasterKey(config(database, dataDir), undefined, { skipBroken: true });
    // The other webhook, and the two answers that made them.
    assert.deepEqual([done.sealed, done.skipped?.length, done.skipped?.includes(named)], [3, 2, true]);
    const after = readFileSync(join(dataDir, masterKeyFile), 'utf8').trim();
    await using again = await startGateway(database, { settings: { SVC_MASTER_KEY: after } });
    const repeat = await http(again.url, '/v1/schedules', {
      key: account.key,
      body,
      headers: { 'idempotency-key': 'answer' },
    });
    assert.equal(repeat.body.error.code, 'answer_not_kept');
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
