import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, until } from '../../testing.ts';
import { sweepUploads } from './uploads.jobs.ts';
import { Uploads } from './uploads.store.ts';
import { metadataOf } from './uploads.tus.ts';
import { beginUpload, type BegunUpload, offsetOf, openPatch, sendPiece, tusOf } from './uploads.testing.ts';

const mib = 1024 * 1024;
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64');

describe('uploads', () => {
  const { gateway, second, account, database } = shared(() =>
    openTest({ gateways: 2, settings: { SVC_UPLOAD_MAX_BYTES: '50000000' } }),
  );
  const piecesOf = async ({ id }: BegunUpload): Promise<string[]> =>
    gateway.kernel.blobs.list(`uploads/${account.id}/${id}/`);
  const errorOf = async (answer: Response) => ((await answer.json()) as { error: { code: string } }).error.code;

  test('say by OPTIONS and without a key what they can', async () => {
    const { status, headers } = await fetch(`${gateway.url}/v1/uploads`, { method: 'OPTIONS' });
    assert.equal(status, 204);
    assert.deepEqual(
      ['tus-resumable', 'tus-version', 'tus-extension', 'tus-max-size', 'tus-checksum-algorithm'].map((name) =>
        headers.get(name),
      ),
      ['1.0.0', '1.0.0', 'creation,creation-with-upload,termination,expiration,checksum', '50000000', 'sha1,sha256'],
    );
  });

  test('come in pieces whose offsets and bytes add up to the file, and expire later once they are complete', async () => {
    const file = randomBytes(3 * mib + 5);
    const upload = await beginUpload(gateway, account, file.length, { filename: 'ședință.m4a', kind: '' });
    for (let at = 0; at < file.length; at += mib) {
      const answer = await sendPiece(upload, account, at, file.subarray(at, at + mib));
      const end = Math.min(at + mib, file.length);
      assert.deepEqual([answer.status, answer.headers.get('upload-offset')], [204, String(end)]);
      assert.equal(answer.headers.get('tus-resumable'), '1.0.0');
      assert.match(answer.headers.get('upload-expires') ?? '', /GMT$/);
      assert.equal(await offsetOf(upload, account), end);
    }
    const head = await fetch(upload.url, { method: 'HEAD', headers: tusOf(account) });
    assert.deepEqual(
      [head.headers.get('upload-length'), head.headers.get('cache-control')],
      [String(file.length), 'no-store'],
    );
    assert.match(head.headers.get('upload-metadata') ?? '', /^filename \S+,kind/);
    const { body } = await http(gateway.url, `/v1/uploads/${upload.id}`, { key: account.key });
    assert.deepEqual([body.offset, body.length], [file.length, file.length]);
    assert.deepEqual(body.metadata, { filename: 'ședință.m4a', kind: '' });
    const stored: Buffer[] = [];
    for (const name of (await piecesOf(upload)).sort((a, b) => startOf(a) - startOf(b))) {
      const blob = await gateway.kernel.blobs.get(name);
      for await (const chunk of blob?.body ?? []) stored.push(chunk as Buffer);
    }
    assert.ok(Buffer.concat(stored).equals(file));
  });

  const startOf = (name: string): number => Number(name.split('/').at(-1)?.split('-')[0]);

  test('begin with their first piece, or with nothing at all', async () => {
    const whole = await beginUpload(gateway, account, Buffer.from('whole'));
    assert.equal(await offsetOf(whole, account), 5);
    const empty = await beginUpload(gateway, account, 0);
    const { body } = await http(gateway.url, `/v1/uploads/${empty.id}`, { key: account.key });
    assert.ok(body.completed_at);
  });

  test('refuse what tus and the limits refuse, and keep nothing of it', async () => {
    const create = (headers: Record<string, string>, body?: string) =>
      fetch(`${gateway.url}/v1/uploads`, {
        method: 'POST',
        headers: { ...tusOf(account), ...headers },
        ...(body !== undefined && { body }),
      });
    const before = (await http(gateway.url, '/v1/usage', { key: account.key })).body.quotas as { name: string }[];
    const text = 'x'.repeat(10);
    const piece = { 'content-type': 'application/offset+octet-stream' };
    for (const [headers, status, code, body] of [
      [{ 'tus-resumable': '', 'upload-length': '5' }, 412, 'tus_version'],
      [{ 'tus-resumable': '0.2.2', 'upload-length': '5' }, 412, 'tus_version'],
      [{}, 400, 'bad_request'],
      [{ 'upload-length': '-1' }, 400, 'bad_request'],
      [{ 'upload-length': '1e3' }, 400, 'bad_request'],
      [{ 'upload-defer-length': '1' }, 400, 'bad_request'],
      [{ 'upload-length': '5', 'upload-concat': 'partial' }, 400, 'bad_request'],
      [{ 'upload-length': '50000001' }, 413, 'payload_too_large'],
      [{ 'upload-length': '9007199254740993' }, 413, 'payload_too_large'],
      [{ 'upload-length': '5', 'upload-metadata': 'name ***' }, 400, 'bad_request'],
      [{ 'upload-length': '5', 'upload-metadata': 'a YQ==,a YQ==' }, 400, 'bad_request'],
      [{ 'upload-length': '5', 'upload-metadata': 'a /w==' }, 400, 'bad_request'],
      [{ 'upload-length': '5', 'upload-metadata': `a ${'YWFh'.repeat(1_024)}` }, 400, 'bad_request'],
      [{ 'upload-length': '5', 'repr-digest': 'sha-256=:YQ==:' }, 400, 'bad_request'],
      [{ 'upload-length': '10', 'content-type': 'text/plain' }, 415, 'content_type', text],
      [{ 'upload-length': '10', ...piece, 'upload-checksum': 'md5 YQ==' }, 400, 'bad_request', text],
      [{ 'upload-length': '10', ...piece, 'upload-checksum': 'sha1 YQ==' }, 400, 'bad_request', text],
      [
        { 'upload-length': '10', ...piece, 'upload-checksum': `sha256 ${sha256(Buffer.from('y'))}` },
        460,
        'checksum_mismatch',
        text,
      ],
      [{ 'upload-length': '5', ...piece }, 400, 'bad_request', text],
    ] as [Record<string, string>, number, string, string?][]) {
      const answer = await create(headers, body);
      assert.deepEqual([answer.status, await errorOf(answer)], [status, code], JSON.stringify(headers));
      assert.equal(answer.headers.get('tus-resumable'), '1.0.0');
      if (status === 412) assert.equal(answer.headers.get('tus-version'), '1.0.0');
    }
    assert.deepEqual((await http(gateway.url, '/v1/usage', { key: account.key })).body.quotas, before);
  });

  test('refuse a piece that does not fit, and stay where they are', async () => {
    const upload = await beginUpload(gateway, account, 20 * mib);
    assert.equal((await sendPiece(upload, account, 0, Buffer.from('12345'))).status, 204);
    const patch = (headers: Record<string, string>, body: Buffer | ReadableStream = Buffer.from('x')) =>
      sendPiece(upload, account, 5, body, headers);
    const endless = () =>
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new Uint8Array(64 * 1024));
        },
      });
    for (const [headers, status, code, body] of [
      [{ 'tus-resumable': '2.0.0' }, 412, 'tus_version'],
      [{ 'content-type': 'application/octet-stream' }, 415, 'content_type'],
      [{ 'upload-offset': '4' }, 409, 'upload_conflict'],
      [{ 'upload-offset': '6' }, 409, 'upload_conflict'],
      [{ 'upload-offset': '9007199254740992' }, 409, 'upload_conflict'],
      [{ 'upload-offset': '-5' }, 400, 'bad_request'],
      [{ 'upload-offset': 'x' }, 400, 'bad_request'],
      [{ 'upload-checksum': `sha1 ${createHash('sha1').update('y').digest('base64')}` }, 460, 'checksum_mismatch'],
      [{}, 413, 'payload_too_large', Buffer.alloc(8 * mib + 1)],
      [{}, 413, 'payload_too_large', endless()],
    ] as [Record<string, string>, number, string, (Buffer | ReadableStream)?][]) {
      const answer = await patch(headers, body);
      assert.deepEqual([answer.status, await errorOf(answer)], [status, code], JSON.stringify(headers));
      assert.equal(await offsetOf(upload, account), 5);
    }
    assert.equal((await piecesOf(upload)).length, 1);
    // A body past the end, by its length and by counting.
    const small = await beginUpload(gateway, account, 3);
    for (const body of [Buffer.from('four'), endless()])
      assert.equal((await sendPiece(small, account, 0, body)).status, 400);
    assert.equal(await offsetOf(small, account), 0);
  });

  test('take a piece with its checksum, and by a POST that stands for PATCH, HEAD or DELETE', async () => {
    const upload = await beginUpload(gateway, account, 10);
    const first = Buffer.from('12345');
    const checksum = { 'upload-checksum': `sha256 ${sha256(first)}` };
    assert.equal((await sendPiece(upload, account, 0, first, checksum)).status, 204);
    const override = (method: string | undefined, headers = {}, body?: string) =>
      fetch(upload.url, {
        method: 'POST',
        headers: {
          ...tusOf(account),
          'content-type': 'application/offset+octet-stream',
          ...(method && { 'x-http-method-override': method }),
          ...headers,
        },
        ...(body !== undefined && { body }),
      });
    assert.equal((await override('PATCH', { 'upload-offset': '5' }, '67890')).status, 204);
    assert.equal((await override('HEAD')).headers.get('upload-offset'), '10');
    for (const other of [undefined, 'PUT', 'GET']) assert.equal((await override(other)).status, 400);
    assert.equal((await override('DELETE')).status, 204);
    assert.equal((await fetch(upload.url, { method: 'HEAD', headers: tusOf(account) })).status, 404);
    assert.deepEqual(await piecesOf(upload), []);
  });

  test('compare the digest of the whole before the last piece counts, and lose nothing when it differs', async () => {
    const file = randomBytes(2_000);
    const digest = (bytes: Buffer) => ({ 'repr-digest': `sha-256=:${sha256(bytes)}:` });
    const upload = await beginUpload(gateway, account, file.length, {}, digest(randomBytes(3)));
    assert.equal((await sendPiece(upload, account, 0, file.subarray(0, 1_500))).status, 204);
    const wrong = await sendPiece(upload, account, 1_500, file.subarray(1_500));
    assert.deepEqual([wrong.status, await errorOf(wrong)], [460, 'checksum_mismatch']);
    assert.equal(await offsetOf(upload, account), 1_500);
    assert.equal((await sendPiece(upload, account, 1_500, file.subarray(1_500), digest(file))).status, 204);
    const answer = await fetch(upload.url, { headers: tusOf(account) });
    assert.equal(answer.headers.get('repr-digest'), digest(file)['repr-digest']);
    const state = (await answer.json()) as { sha256: string };
    assert.equal(state.sha256, createHash('sha256').update(file).digest('hex'));
  });

  test('is an error when a piece is not in the store, and never shorter', async () => {
    const file = randomBytes(2_000);
    const upload = await beginUpload(gateway, account, file.length);
    assert.equal((await sendPiece(upload, account, 0, file)).status, 204);
    const { blobs } = gateway.kernel;
    for (const name of await piecesOf(upload)) await blobs.delete(name);
    const uploads = new Uploads(gateway.kernel);
    await assert.rejects(async () => {
      for await (const _ of uploads.read({ id: upload.id, account_id: account.id }));
    }, /a piece of this upload is missing in the store/);
  });

  test('compare the digest of the whole without reading pieces again that this gateway took', async (t) => {
    const file = randomBytes(4_000);
    const digest = { 'repr-digest': `sha-256=:${sha256(file)}:` };
    const streamOf = (bytes: Buffer) => new Blob([new Uint8Array(bytes)]).stream();
    const reads = t.mock.method(gateway.kernel.blobs, 'get').mock;
    const upload = await beginUpload(gateway, account, file.length, {}, digest);
    const there = { url: `${second.url}/v1/uploads/${upload.id}` };
    for (const at of [0, 1_000])
      assert.equal((await sendPiece(upload, account, at, streamOf(file.subarray(at, at + 1_000)))).status, 204);
    assert.equal((await sendPiece(upload, account, 2_000, randomBytes(2_000))).status, 460);
    assert.equal((await sendPiece(upload, account, 2_000, streamOf(file.subarray(2_000, 3_000)))).status, 204);
    assert.equal(reads.callCount(), 0);
    // The other one took none of them, and reads them once for all tries. It has a folder of its own here.
    const others = t.mock.method(second.kernel.blobs, 'get', gateway.kernel.blobs.get);
    t.mock.method(second.kernel.blobs, 'put', gateway.kernel.blobs.put);
    t.mock.method(second.kernel.blobs, 'delete', gateway.kernel.blobs.delete);
    assert.equal((await sendPiece(there, account, 3_000, randomBytes(1_000))).status, 460);
    assert.equal(others.mock.callCount(), 4);
    assert.equal((await sendPiece(there, account, 3_000, file.subarray(3_000))).status, 204);
    assert.equal(others.mock.callCount(), 4);
    assert.equal(await offsetOf(upload, account), file.length);
  });

  test('begin with nothing when the connection of their first piece is cut', async () => {
    const other = await createAccount(gateway);
    const of = () =>
      gateway.kernel.sql<{ id: string }[]>`select id from uploads.uploads where account_id = ${other.id}`;
    const { patch } = openPatch(
      { url: `${gateway.url}/v1/uploads` },
      other,
      0,
      1_000,
      { 'upload-length': '1000' },
      'POST',
    );
    patch.write('x'.repeat(500));
    await until(async () => (await of()).length === 1);
    patch.destroy();
    await until(async () => (await of()).length === 0);
    assert.deepEqual(await gateway.kernel.blobs.list(`uploads/${other.id}/`), []);
  });

  test('take nothing that an account sends which was suspended meanwhile', async () => {
    const other = await createAccount(gateway);
    const upload = await beginUpload(gateway, other, 2_000);
    const { patch, status } = openPatch(upload, other, 0, 2_000);
    patch.write('x'.repeat(1_000));
    await until(async () => (await pending(upload)) === 1);
    const { sql } = gateway.kernel;
    await sql`update accounts.accounts set suspended_at = now() where id = ${other.id}`;
    patch.end('x'.repeat(1_000));
    assert.equal(await status, 409);
    const [row] = await sql<{ at: number }[]>`select at from uploads.uploads where id = ${upload.id}`;
    assert.deepEqual([row?.at, await gateway.kernel.blobs.list(`uploads/${other.id}/`)], [0, []]);
  });

  test('keep what came of a connection that is cut, and nothing when a checksum was given', async () => {
    const upload = await beginUpload(gateway, account, 5 * mib);
    const { patch } = openPatch(upload, account, 0, 5 * mib);
    patch.write(Buffer.alloc(mib, 1));
    await until(async () => (await pending(upload)) === 1);
    patch.destroy();
    await until(async () => (await offsetOf(upload, account)) > 0);
    const at = await offsetOf(upload, account);
    assert.ok(at <= mib);
    const checked = openPatch(upload, account, at, mib, { 'upload-checksum': `sha256 ${sha256(Buffer.alloc(mib))}` });
    checked.patch.write(Buffer.alloc(1_000));
    await until(async () => (await pending(upload)) === 1);
    checked.patch.destroy();
    await until(async () => (await pending(upload)) === 0);
    assert.equal(await offsetOf(upload, account), at);
    assert.equal((await piecesOf(upload)).length, 1);
  });

  const pending = async ({ id }: BegunUpload): Promise<number> => {
    const [row] = await gateway.kernel.sql<{ n: number }[]>`
      select count(*)::int as n from uploads.parts where upload_id = ${id} and bytes is null`;
    return row?.n ?? 0;
  };

  test('answer HEAD while a PATCH stalls, and give way to a newer one, here and at another gateway', async () => {
    for (const newer of [gateway, second]) {
      const upload = await beginUpload(gateway, account, 4_000);
      const stalled = openPatch(upload, account, 0, 4_000);
      stalled.patch.write(Buffer.alloc(1_000, 1));
      await until(async () => (await pending(upload)) === 1);
      assert.equal(await offsetOf(upload, account), 0);
      const there = { id: upload.id, url: `${newer.url}/v1/uploads/${upload.id}` };
      assert.equal((await sendPiece(there, account, 0, Buffer.alloc(2_000, 2))).status, 204);
      assert.equal(await stalled.status, 409);
      assert.equal(await offsetOf(upload, account), 2_000);
      stalled.patch.destroy();
      await until(async () => (await pending(upload)) === 0);
      const [row] = await gateway.kernel.sql<{ bytes: number }[]>`
        select sum(bytes)::int as bytes from uploads.parts where upload_id = ${upload.id}`;
      assert.equal(row?.bytes, 2_000);
    }
  });

  test('are the account\u2019s own: any of its keys goes on with them, those of others find nothing', async () => {
    const upload = await beginUpload(gateway, account, 10);
    const other = await createAccount(gateway);
    assert.equal((await sendPiece(upload, other, 0, Buffer.from('12345'))).status, 404);
    assert.equal((await fetch(upload.url, { method: 'HEAD', headers: tusOf(other) })).status, 404);
    const { body } = await http(gateway.url, '/v1/keys', {
      key: account.key,
      body: { name: 'x', scopes: ['uploads'] },
    });
    assert.equal((await sendPiece(upload, { ...account, key: body.key }, 0, Buffer.from('12345'))).status, 204);
  });

  test('are hidden with every route of theirs when transcripts are off for the account', async () => {
    const other = await createAccount(gateway);
    const upload = await beginUpload(gateway, other, 10);
    await gateway.kernel.sql`update accounts.accounts set features = '{"transcripts": false}' where id = ${other.id}`;
    await gateway.kernel.gateways.announce('credentials.changed', { accountId: other.id });
    assert.equal((await sendPiece(upload, other, 0, Buffer.from('12345'))).status, 404);
    assert.equal((await fetch(`${gateway.url}/v1/uploads`, { method: 'POST', headers: tusOf(other) })).status, 404);
  });

  test('of an account are bounded in number and in bytes', async () => {
    const other = await createAccount(gateway);
    const { kernel } = gateway;
    await kernel.sql`insert into kernel.quotas (account_id, name, most) values (${other.id}, 'uploads', 2)`;
    await kernel.sql`insert into kernel.quotas (account_id, name, most) values (${other.id}, 'upload_bytes', 100)`;
    const begin = (length: number) =>
      fetch(`${gateway.url}/v1/uploads`, {
        method: 'POST',
        headers: { ...tusOf(other), 'upload-length': String(length) },
      });
    assert.equal((await begin(101)).status, 429);
    assert.equal((await begin(60)).status, 201);
    assert.equal((await begin(60)).status, 429);
    assert.equal((await begin(40)).status, 201);
    const refused = await begin(0);
    assert.deepEqual([refused.status, await errorOf(refused)], [429, 'quota_exceeded']);
  });

  test('without bytes expire within the hour: their clients may not have heard of them', async () => {
    const upload = await beginUpload(gateway, account, 10);
    const hours = async () =>
      (
        await gateway.kernel.sql<{ hours: number }[]>`
        select round(extract(epoch from expires_at - now()) / 3600)::int as hours
        from uploads.uploads where id = ${upload.id}`
      )[0]?.hours;
    assert.equal(await hours(), 1);
    await sendPiece(upload, account, 0, Buffer.from('12345'));
    assert.equal(await hours(), 72);
    await sendPiece(upload, account, 5, Buffer.from('67890'));
    assert.equal(await hours(), 24);
  });

  test('expire with their bytes after their time, say 410 for a week and 404 then', async () => {
    const upload = await beginUpload(gateway, account, 10);
    const taken = await beginUpload(gateway, account, 10);
    await sendPiece(upload, account, 0, Buffer.from('12345'));
    const { sql } = gateway.kernel;
    await sql`update uploads.uploads set expires_at = now() - interval '1 minute' where id = ${upload.id}`;
    await sql`update uploads.uploads set expires_at = null, transcript_id = gen_random_uuid() where id = ${taken.id}`;
    const gone = await sendPiece(upload, account, 5, Buffer.from('12345'));
    assert.deepEqual([gone.status, await errorOf(gone)], [410, 'upload_gone']);
    await sweepUploads.run(gateway.kernel);
    assert.deepEqual(await piecesOf(upload), []);
    assert.equal((await fetch(upload.url, { method: 'HEAD', headers: tusOf(account) })).status, 410);
    await sql`update uploads.uploads set expires_at = now() - interval '8 days' where id = ${upload.id}`;
    await sweepUploads.run(gateway.kernel);
    assert.equal((await fetch(upload.url, { method: 'HEAD', headers: tusOf(account) })).status, 404);
    assert.equal(await offsetOf(taken, account), 0);
    const locked = await fetch(taken.url, { method: 'DELETE', headers: tusOf(account) });
    assert.deepEqual([locked.status, await errorOf(locked)], [423, 'upload_locked']);
  });

  test('lose the bytes of a request that died, once a day has gone by', async () => {
    const upload = await beginUpload(gateway, account, 10);
    const { sql, blobs } = gateway.kernel;
    const token = crypto.randomUUID();
    await blobs.put(`uploads/${account.id}/${upload.id}/0-${token}`, Buffer.from('left'));
    await sql`insert into uploads.parts (upload_id, start, token, created_at)
      values (${upload.id}, 0, ${token}, now() - interval '25 hours')`;
    await sweepUploads.run(gateway.kernel);
    assert.deepEqual([await piecesOf(upload), await pending(upload)], [[], 0]);
  });

  test('never say more than is stored, whatever many writers on two gateways do', async () => {
    assert.ok(database.target);
    const sizes = fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        const upload = await beginUpload(gateway, account, 50_000);
        await Promise.all(
          lengths.map(async (length, n) => {
            const at = n % 2 ? second : gateway;
            const there = { id: upload.id, url: `${at.url}/v1/uploads/${upload.id}` };
            for (let tries = 0; tries < 3; tries += 1) {
              const from = await offsetOf(there, account);
              const body = Buffer.alloc(length, 65 + n);
              const { patch, status } = openPatch(there, account, from, length * 2);
              patch.write(body);
              if (tries === 1) patch.destroy();
              else patch.end(body);
              await status.catch(() => {});
            }
          }),
        );
        await until(async () => (await pending(upload)) === 0);
        const parts = await gateway.kernel.sql<{ start: number; bytes: number; token: string }[]>`
          select start, bytes, token from uploads.parts where upload_id = ${upload.id} order by start`;
        let end = 0;
        for (const part of parts) {
          assert.equal(part.start, end);
          const name = `uploads/${account.id}/${upload.id}/${part.start}-${part.token}`;
          const size = (await gateway.kernel.blobs.size(name)) ?? (await second.kernel.blobs.size(name));
          assert.equal(size, part.bytes);
          end += part.bytes;
        }
        assert.equal(await offsetOf(upload, account), end);
      }),
      { numRuns: 6 },
    );
  });
});

test('any metadata that a client encodes comes back as it was', () => {
  const names = fc.stringMatching(/^[a-z0-9_-]{1,10}$/);
  const values = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !text.includes('\u0000'));
  fc.assert(
    fc.property(fc.dictionary(names, values, { maxKeys: 8 }), (given) => {
      const pairs = Object.entries(given).map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`);
      assert.deepEqual({ ...metadataOf(pairs.join(',')) }, { ...given });
    }),
  );
});
