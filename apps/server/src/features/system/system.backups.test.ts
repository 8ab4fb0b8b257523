import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { installationOf } from '../../backup/database.sql.ts';
import { writePlace } from '../../backup/place.ts';
import { newName } from '../../backup/store.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { setOperator } from '../accounts/index.ts';
import { headersOf, signIn } from '../me/me.testing.ts';
import { openOwnBackups } from './system.backups.ts';

/** The part of `s3rver` that is used here; it has no types of its own. */
interface S3Server {
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
}

describe('where backups go, chosen in the hub', () => {
  const { gateway } = shared(() => openTest());
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-places-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** A signed-in operator, or another person. */
  const open = async (isOperator = true) => {
    const account = await createAccount(gateway);
    if (isOperator) await setOperator(gateway.kernel.sql, account.id, true);
    const login = await signIn(gateway, account);
    const call = (method: string, path: string, body?: object) => login.ask(method, `/v1/system/backups${path}`, body);
    return { account, login, call };
  };

  test('a place is tried before it is kept, shown without its secret, and is none any more when it is taken out', async () => {
    const { call, account } = await open();
    const place = join(folder, 'one');
    const refused = await call('PUT', '/place', { place: join(folder, 'gone', 'x') });
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'bad_request']);
    assert.match(refused.body.error.details.fieldErrors.place[0], /there is no folder.*mount its disk/);
    assert.equal((await call('GET', '')).body.place, undefined);
    assert.deepEqual((await call('PUT', '/place', { place })).body, { place });
    const { body } = await call('GET', '');
    assert.deepEqual([body.place, body.set_by, body.s3], [place, 'hub', undefined]);
    const s3 = { endpoint: 'http://127.0.0.1:1', access_key_id: 'id', secret_access_key: 'EXAMPLE-s3-secret' };
    const unreached = await call('PUT', '/place', { place: 's3://bucket/x', s3 });
    assert.match(unreached.body.error.message, /ECONNREFUSED.*look at the bucket/);
    assert.ok(!JSON.stringify(unreached.body).includes('EXAMPLE-s3-secret'));
    assert.equal((await call('GET', '')).body.place, place, 'what was refused changes nothing');
    assert.deepEqual((await call('DELETE', '/place')).body, { deleted: true });
    assert.equal((await call('GET', '')).body.place, undefined);
    const acts = await gateway.kernel.sql<{ action: string }[]>`
      select action from kernel.audit where account_id = ${account.id} and action like 'system.%' order by id`;
    assert.deepEqual(
      acts.map(({ action }) => action),
      ['system.setBackupPlace', 'system.removeBackupPlace'],
    );
  });

  test('an endpoint that has a user or a password is refused: it is shown, and its keys have fields of their own', async () => {
    const { call } = await open();
    for (const endpoint of ['http://user:EXAMPLE-secret@127.0.0.1:1', 'http://user@127.0.0.1:1']) {
      const s3 = { endpoint, access_key_id: 'id', secret_access_key: 'x' };
      const { status, body } = await call('PUT', '/place', { place: 's3://bucket/x', s3 });
      assert.equal(status, 400);
      assert.match(body.error.details.fieldErrors['s3.endpoint'][0], /no user and no password/);
    }
  });

  test('the audit log says by which endpoint and key a bucket is reached, never its secret', async (context) => {
    const directory = join(folder, 's3');
    await mkdir(directory);
    const S3rver = createRequire(import.meta.url)('s3rver') as new (options: object) => S3Server;
    const configureBuckets = [{ name: 'bucket' }];
    const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets });
    const { port } = await server.run();
    context.after(() => server.close());
    const { call, account } = await open();
    const endpoint = `http://127.0.0.1:${port}`;
    const s3 = { endpoint, access_key_id: 'S3RVER', secret_access_key: 'S3RVER' };
    assert.equal((await call('PUT', '/place', { place: 's3://bucket/x', s3 })).status, 200);
    const [act] = await gateway.kernel.sql<{ details: Record<string, string> }[]>`
      select details from kernel.audit where account_id = ${account.id} and action = 'system.setBackupPlace'`;
    const { before: _, ...details } = act?.details ?? {};
    assert.deepEqual(details, { place: 's3://bucket/x', endpoint, region: 'us-east-1', access_key_id: 'S3RVER' });
    await call('DELETE', '/place');
  });

  test('a place that does not answer, or has a file no more, is told in words, and nothing is said to be read', async () => {
    const { call, account } = await open();
    const { kernel } = gateway;
    const name = newName(await installationOf(kernel.sql), new Date(kernel.clock.now()));
    const access = { endpoint: 'http://127.0.0.1:1', region: 'eu', accessKeyId: 'id' };
    await writePlace(kernel.sql, kernel, { place: 's3://bucket/x', access, secretAccessKey: 'EXAMPLE-s3-secret' });
    for (const path of ['/files', `/files/${name}`]) {
      const { status, body } = await call('GET', path);
      assert.deepEqual([status, body.error.code], [503, 'unavailable'], path);
      assert.match(body.error.message, /the place of backups does not answer: s3:\/\/bucket\/x: ECONNREFUSED/);
    }
    const place = join(folder, 'three');
    await mkdir(place);
    await writePlace(kernel.sql, kernel, { place });
    const own = await openOwnBackups(kernel);
    assert.equal(await own?.open(name), undefined);
    // It has its name, and is none.
    await mkdir(join(place, name));
    await writeFile(join(place, name, 'x'), '');
    const { status, body } = await call('GET', `/files/${name}`);
    assert.deepEqual([status, body.error.code], [503, 'unavailable']);
    assert.match(body.error.message, /is no file/);
    const acts = await kernel.sql`
      select from kernel.audit where account_id = ${account.id} and action = 'system.readBackup'`;
    assert.equal(acts.length, 0);
    await writePlace(kernel.sql, kernel, undefined);
  });

  test('a backup is downloaded by an operator with a fresh proof, byte by byte, and that stands in the audit log', async () => {
    const { call, account, login } = await open();
    const place = join(folder, 'two');
    await mkdir(place);
    const name = newName(await installationOf(gateway.kernel.sql), new Date(gateway.kernel.clock.now()));
    await writeFile(join(place, name), Buffer.alloc(100_000, 'svc'));
    await writeFile(join(place, 'other.txt'), 'not ours');
    assert.equal((await call('PUT', '/place', { place })).status, 200);
    const { body } = await call('GET', '/files');
    assert.deepEqual([body.data.length, body.data[0].name, body.data[0].bytes], [1, name, 100_000]);
    const answer = await fetch(`${gateway.url}/v1/system/backups/files/${name}`, { headers: headersOf(login.token) });
    assert.match(answer.headers.get('content-disposition') ?? '', new RegExp(name));
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), Buffer.alloc(100_000, 'svc'));
    for (const foreign of ['other.txt', '..%2Ftwo%2Fother.txt', encodeURIComponent(`../two/${name}`)])
      assert.equal((await call('GET', `/files/${foreign}`)).status, 404, foreign);
    const acts = await gateway.kernel.sql`
      select from kernel.audit where account_id = ${account.id} and action = 'system.readBackup' and subject = ${name}`;
    assert.equal(acts.length, 1);

    const late = await signIn(gateway, account, { provedAt: gateway.kernel.clock.now() - 11 * 60_000 });
    for (const path of ['/files', `/files/${name}`])
      assert.equal(await late.said('GET', `/v1/system/backups${path}`), '403 reauth_required', path);
    const person = await open(false);
    const ask = [
      ['GET', '/files'],
      ['GET', `/files/${name}`],
      ['PUT', '/place'],
      ['DELETE', '/place'],
    ] as const;
    for (const [method, path] of ask) {
      assert.equal((await person.call(method, path, method === 'PUT' ? { place } : undefined)).status, 404, path);
      // An API key lasts, and may be anywhere.
      const byKey = await http(gateway.url, `/v1/system/backups${path}`, {
        method,
        key: account.key,
        ...(method === 'PUT' && { body: { place } }),
      });
      assert.deepEqual([byKey.status, byKey.body.error.code], [403, 'sign_in_required'], path);
    }
  });
});

describe('where settings say the place', () => {
  const { gateway } = shared(() => openTest({ settings: { SVC_BACKUP_DIR: '/nowhere/backups' } }));

  test('nobody chooses another one in the hub', async () => {
    const account = await createAccount(gateway);
    await setOperator(gateway.kernel.sql, account.id, true);
    const login = await signIn(gateway, account);
    const { status, body } = await login.ask('PUT', '/v1/system/backups/place', { place: '/tmp/x' });
    assert.equal(status, 400);
    assert.match(body.error.message, /SVC_BACKUP_DIR/);
    assert.equal((await login.ask('DELETE', '/v1/system/backups/place')).status, 400);
  });
});
