import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { before, describe, test } from 'node:test';
import { bySystem } from '../../kernel/records/audit.ts';
import { shared } from '../../testing.shared.ts';
import { until } from '../../testing.ts';
import { linkOf } from '../artifacts/artifacts.link.ts';
import { artifactsFeature } from '../artifacts/feature.ts';
import { collect as collectAll } from '../artifacts/index.ts';
import { outputsOf } from './sandboxes.running.ts';
import { type Json, openSandboxes } from './sandboxes.testing.ts';

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
/** The harmless file that every antivirus takes for a virus; put together so that none takes this one for it. */
const eicar = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE', '!$H+H*'].join('');

describe('files of sandboxes', () => {
  let box: Json;
  const t = shared(() => openSandboxes());
  before(async () => {
    box = await t.create();
  });

  const url = (path: string) => `${t.gateway.url}/v1/sandboxes/${box.id}/files${path}`;
  const headers = () => ({ authorization: `Bearer ${t.account.key}` });
  const put = (path: string, body: RequestInit['body'], more: RequestInit = {}) =>
    fetch(url(path), { method: 'PUT', headers: headers(), body: body ?? null, ...more });
  const get = (path: string) => fetch(url(path), { headers: headers() });
  /** A signed link as this gateway serves it: its port was not known when it was signed. */
  const here = (link: string) => fetch(t.gateway.url + new URL(link).pathname + new URL(link).search);
  const collect = async (): Promise<Json[]> => {
    const { status, body } = await t.call('GET', `/v1/sandboxes/${box.id}/artifacts`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data;
  };

  test('a file is written and read back as it was, whatever its type, with its hash and generation', async () => {
    const bytes = randomBytes(3_000_000);
    const written = await put('/deep/er/ăîș %20.bin', bytes, {
      headers: { ...headers(), 'content-type': 'image/png' },
    });
    const shown: Json = await written.json();
    assert.equal(written.status, 200, JSON.stringify(shown));
    assert.deepEqual(shown, {
      path: 'deep/er/ăîș %20.bin'.replace('%20', ' '),
      bytes: bytes.length,
      sha256: sha256(bytes),
      generation: shown.generation,
    });
    const read = await get('/deep/er/ăîș%20%20.bin'.replace('%20%20', ' %20'));
    assert.equal(read.headers.get('content-type'), 'application/octet-stream');
    assert.equal(sha256(new Uint8Array(await read.arrayBuffer())), sha256(bytes));
    assert.equal(((await (await put('/b', 'x')).json()) as Json).generation, shown.generation + 1);
    assert.equal((await t.exec(box, 'stat -c "%U %a" b; cat b')).stdout, 'user 644\nx');
    const empty = await put('/empty', null);
    assert.equal(((await empty.json()) as Json).bytes, 0);
  });

  test('a directory is listed one level deep', async () => {
    await t.exec(box, 'mkdir -p list/sub; echo 1 > list/a; echo 2 > list/sub/b; ln -s /etc/passwd list/link');
    const { body } = await t.call('GET', `/v1/sandboxes/${box.id}/files?path=list`);
    const shown = body.entries.map(({ path, bytes, type }: Json) => [path, type === 'file' ? bytes : type]);
    assert.deepEqual(
      new Map(shown),
      new Map<string, unknown>([
        ['list/a', 2],
        ['list/link', 'symlink'],
        ['list/sub', 'directory'],
      ]),
    );
    assert.ok(body.entries.every(({ mtime }: Json) => Math.abs(Date.parse(mtime) - Date.now()) < 600_000));
    const root = (await t.call('GET', `/v1/sandboxes/${box.id}/files`)).body.entries.map(({ path }: Json) => path);
    assert.ok(root.includes('list') && root.includes('out'));
  });

  test('a path may begin with /workspace/, and links that stay inside lead on', async () => {
    await t.exec(box, 'mkdir -p runs/one; echo 1 > runs/one/r; ln -sfn runs/one latest; ln -sfn /workspace/latest/r r');
    for (const path of ['/latest/r', '/r', '//workspace/runs/one/r', '/%2Fworkspace%2Flatest%2Fr']) {
      const read = await get(path);
      assert.deepEqual([path, read.status, await read.text()], [path, 200, '1\n']);
    }
    const listed = (await t.call('GET', `/v1/sandboxes/${box.id}/files?path=/workspace/latest`)).body.entries;
    assert.deepEqual(
      listed.map(({ path }: Json) => path),
      ['latest/r'],
    );
    const written: Json = await (await put('//workspace/latest/new', 'n')).json();
    assert.equal(written.path, 'latest/new');
    assert.equal((await t.exec(box, 'cat runs/one/new')).stdout, 'n');
  });

  test('what is no file, no directory, or no path is told', async () => {
    for (const [path, status] of [
      ['/none', 404],
      ['/none/at/all', 404],
      ['/list', 404],
      ['/list/link', 404],
      ['/list/a/b', 404],
      ['/a/%2e%2e%2f%2e%2e%2fetc/passwd', 400],
      ['/%00', 400],
      [`/${'a'.repeat(1025)}`, 400],
    ] as const) {
      assert.equal((await get(path)).status, status, path);
    }
    for (const path of ['/..%2fx', '/list', '/list/link/x', '/list/a/b', `/${'b/'.repeat(600)}`]) {
      const { status } = await put(path, 'x');
      assert.ok(status === 400 || status === 404, `${path}: ${status}`);
    }
    assert.equal((await t.call('GET', `/v1/sandboxes/${box.id}/files?path=none`)).status, 404);
    assert.equal((await t.call('GET', `/v1/sandboxes/${box.id}/files?path=../etc`)).status, 400);
    assert.equal((await t.call('GET', `/v1/sandboxes/${box.id}/files?path=${'a'.repeat(1025)}`)).status, 400);
  });

  test('100 MiB are taken and one byte more is not, declared or not, and nothing of it stays', async () => {
    const most = 100 * 1024 * 1024;
    const full = await put('/most', new Uint8Array(most));
    assert.equal(full.status, 200);
    const declared = await put('/more', new Uint8Array(most + 1));
    assert.deepEqual([declared.status, ((await declared.json()) as Json).error.code], [413, 'payload_too_large']);
    const chunk = new Uint8Array(1_048_576);
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 1;
        if (sent > 101) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const chunked = await put('/more', body, { duplex: 'half' });
    assert.equal(chunked.status, 413);
    assert.equal((await t.exec(box, 'ls -A | grep -c more; rm most')).stdout, '0\n');
  });

  test('an upload that breaks off leaves nothing', async () => {
    await put('/kept', 'before');
    const sent = request(url('/kept'), { method: 'PUT', headers: headers() });
    sent.on('error', () => {});
    sent.write(new Uint8Array(1_048_576), () => sent.destroy());
    await new Promise<void>((resolve) => sent.once('close', () => resolve()));
    assert.equal(await (await get('/kept')).text(), 'before');
    // The node hears of the break a moment after the client has made it.
    await until(async () => (await t.exec(box, 'ls -A | grep -c "^[.]"')).stdout === '0\n');
  });

  test('artifacts are collected with type, hash, verdict and a link that serves them as attachments', async () => {
    await t.exec(
      box,
      'rm -rf out/*; python3 -c "import openpyxl; b = openpyxl.Workbook(); [b.active.append([i] * 9) for i in range(999)]; b.save(\\"out/t.xlsx\\")"; mkdir -p "out/s ub"; echo "<html><script>alert(1)</script>" > "out/s ub/ș\\".html"; printf "{}" > out/a.json; ln -s /etc/passwd out/link; mkfifo out/fifo; cp /usr/bin/true out/true',
    );
    const artifacts = await collect();
    const shown = new Map(artifacts.map((each) => [each.path, [each.mime, each.scan, each.bytes]]));
    assert.deepEqual(
      [...shown.keys()].sort((a, b) => (a < b ? -1 : 1)),
      ['out/a.json', 'out/s ub/ș".html', 'out/t.xlsx', 'out/true'],
    );
    assert.equal(shown.get('out/t.xlsx')?.[0], 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
    assert.deepEqual(shown.get('out/a.json'), ['application/json', 'clean', 2]);
    assert.deepEqual(shown.get('out/s ub/ș".html')?.slice(0, 2), ['text/html', 'clean']);
    const page = artifacts.find(({ path }) => path.endsWith('html'));
    assert.ok(Math.abs(Date.parse(page.expires_at) - Date.now() - 3_600_000) < 60_000);
    const served = await here(page.url);
    const text = await served.text();
    assert.equal(sha256(text), page.sha256);
    assert.match(
      served.headers.get('content-disposition') ?? '',
      /^attachment; filename="__.html"; filename\*=UTF-8''%C8%99%22.html$/,
    );
    assert.equal(served.headers.get('x-content-type-options'), 'nosniff');
    assert.match(served.headers.get('content-security-policy') ?? '', /sandbox/);
  });

  test('a link answers parts of its file, and its head alone, with the name of the file', async () => {
    const artifact = (await collect()).find(({ path }) => path.endsWith('.html'));
    const whole = await (await here(artifact.url)).text();
    const ask = async (headers: Record<string, string>, method = 'GET') => {
      const { pathname, search } = new URL(artifact.url);
      const answer = await fetch(`${t.gateway.url}${pathname}${search}`, { method, headers });
      return { answer, text: await answer.text(), at: (name: string) => answer.headers.get(name) };
    };
    const head = await ask({}, 'HEAD');
    assert.deepEqual(
      [head.answer.status, head.text, head.at('content-length'), head.at('accept-ranges'), head.at('etag')],
      [200, '', String(whole.length), 'bytes', `"${artifact.sha256}"`],
    );
    const part = await ask({ range: 'bytes=6-13' });
    assert.deepEqual(
      [part.answer.status, part.text, part.at('content-range'), part.at('content-length')],
      [206, whole.slice(6, 14), `bytes 6-13/${whole.length}`, '8'],
    );
    const rest = await ask({ range: 'bytes=10-', 'if-range': head.at('etag') ?? '' });
    assert.deepEqual([rest.answer.status, rest.text], [206, whole.slice(10)]);
    assert.equal((await ask({ range: 'bytes=10-', 'if-range': '"of another"' })).answer.status, 200);
    const beyond = await ask({ range: `bytes=${whole.length}-` });
    assert.deepEqual([beyond.answer.status, beyond.at('content-range')], [416, `bytes */${whole.length}`]);
    const file = await fetch(`${t.gateway.url}/v1/sandboxes/${box.id}/files/out/a.json`, {
      headers: { authorization: `Bearer ${t.account.key}` },
    });
    assert.match(file.headers.get('content-disposition') ?? '', /^attachment; filename="a.json"/);
  });

  test('collecting twice stores once and answers the same', async () => {
    const [first] = await collect();
    const again = (await collect()).find(({ path }) => path === first.path);
    assert.equal(again.id, first.id);
    await t.exec(box, `echo changed > ${first.path}`);
    const changed = (await collect()).find(({ path }) => path === first.path);
    assert.notEqual(changed.id, first.id);
  });

  test('a link that was changed or is past its time serves nothing', async () => {
    const [artifact] = await collect();
    const link = new URL(artifact.url);
    const expires = Number(link.searchParams.get('expires'));
    const change = (name: string, value: string) => {
      const other = new URL(link);
      other.searchParams.set(name, value);
      return other.href;
    };
    const signature = link.searchParams.get('signature') ?? '';
    for (const changed of [
      change('expires', String(expires + 1)),
      change('expires', ''),
      change('signature', `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`),
      change('signature', ''),
      artifact.url.replace(artifact.id, randomUUID()),
      linkOf(t.gateway.kernel, { id: artifact.id, expires_at: new Date(Date.now() - 1_000).toISOString() }),
    ]) {
      const { status, body } = await here(changed).then(async (r) => ({
        status: r.status,
        body: (await r.json()) as Json,
      }));
      assert.deepEqual([status, body.error.code], [403, 'forbidden']);
    }
  });

  test('an infected file has its verdict and no link, and its bytes are not kept', async () => {
    await put('/out/virus.txt', eicar);
    const infected = (await collect()).find(({ path }) => path === 'out/virus.txt');
    assert.deepEqual([infected.scan, infected.url], ['infected', undefined]);
    assert.equal(await t.gateway.kernel.blobs.size(`artifacts/${infected.id}`), undefined);
    await t.exec(box, 'rm out/virus.txt');
  });

  test('files whose links are over are swept, bytes first, and no others', async () => {
    await put('/out/old.txt', 'old');
    await put('/out/new.txt', 'new');
    const found = await collect();
    const idOf = (path: string): string => found.find((each) => each.path === path).id;
    const [old, fresh] = [idOf('out/old.txt'), idOf('out/new.txt')];
    const { kernel } = t.gateway;
    const { sql, blobs } = kernel;
    await sql`update artifacts.artifacts set expires_at = now() - interval '11 minutes' where id = ${old}`;
    await artifactsFeature.jobs?.find(({ name }) => name === 'artifacts.sweep')?.run(kernel);
    const left = async (id: string) => [
      (await sql`select 1 from artifacts.artifacts where id = ${id}`).length,
      await blobs.size(`artifacts/${id}`),
    ];
    assert.deepEqual(
      [await left(old), await left(fresh)],
      [
        [0, undefined],
        [1, 3],
      ],
    );
    await t.exec(box, 'rm -rf out/*');
  });

  test('a file that could not be scanned has no link, and its bytes are not kept', async () => {
    const { kernel } = t.gateway;
    const source = {
      accountId: t.account.id,
      sandboxId: box.id,
      open: () => Promise.resolve(Readable.from([Buffer.from('unscanned')])),
      scan: () => Promise.reject(new Error('no scanner')),
    };
    const [artifact] = await collectAll(kernel, source, ['out/unscanned']);
    assert.deepEqual([artifact?.scan, artifact?.url, artifact?.bytes], ['error', undefined, 9]);
    assert.equal(await kernel.blobs.size(`artifacts/${artifact?.id}`), undefined);
  });

  test('a file that grows between the listing and its turn is not stored beyond what all may take', async () => {
    await t.exec(box, 'rm -rf out/*; echo small > out/a; : > out/b');
    const sandbox = { accountId: t.account.id, id: box.id, by: bySystem };
    const { source, paths } = await outputsOf(t.gateway.kernel, t.node, sandbox);
    assert.deepEqual(paths, ['out/a', 'out/b']);
    await t.exec(box, 'truncate -s 2200000000 out/b');
    await assert.rejects(collectAll(t.gateway.kernel, source, paths), { code: 'workspace_too_large' });
    await t.exec(box, 'rm out/*');
  });

  test('inputs are fetched by the safe client and written read-only; private addresses are not', async () => {
    const server = createServer((_request, response) => response.end('from outside'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    for (const address of [`http://127.0.0.1:${port}/`, 'http://169.254.169.254/latest', 'file:///etc/passwd', 'x']) {
      const answer = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, {
        shell: 'id',
        inputs: [{ path: 'a', url: address }],
      });
      assert.deepEqual([address, answer.status, answer.body.error.code], [address, 400, 'bad_request']);
    }
    server.close();
    const allowed = await openSandboxes({
      settings: { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: String(port) },
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const other = await allowed.create();
    const done = await allowed.exec(other, {
      shell: 'cat in/d/a.txt; echo more >> in/d/a.txt',
      inputs: [{ path: 'd/a.txt', url: `http://127.0.0.1:${port}/` }],
    });
    assert.equal(done.stdout, 'from outside');
    assert.match(done.stderr, /denied|Read-only/);
    assert.equal(done.receipt.input_sha256, sha256(`d/a.txt\0${sha256('from outside')}\n`));
    server.close();
    await allowed.close();
  });

  test('the platform’s own signed links are inputs without going out', async () => {
    await put('/out/handed.txt', 'handed on');
    const handed = (await collect()).find(({ path }) => path === 'out/handed.txt');
    const done = await t.exec(box, { cmd: ['cat', 'in/x'], inputs: [{ path: 'x', url: handed.url }] });
    assert.equal(done.stdout, 'handed on');
    const forged = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, {
      cmd: ['cat', 'in/x'],
      inputs: [{ path: 'x', url: handed.url.replace(/expires=\d/, 'expires=9') }],
    });
    assert.deepEqual([forged.status, Object.keys(forged.body.error.details.fieldErrors)], [400, ['inputs']]);
  });

  test('one shot: runs, hands out what it left, and leaves no sandbox', async () => {
    const { status, body } = await t.call('POST', '/v1/sandboxes/run', {
      language: 'python',
      code: 'open("out/r.csv", "w").write("a,b\\n1,2\\n"); print("done")',
    });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.exit_code, body.stdout, body.artifacts.length], [0, 'done\n', 1]);
    const [artifact] = body.artifacts;
    assert.deepEqual([artifact.path, artifact.scan], ['out/r.csv', 'clean']);
    assert.deepEqual(body.receipt.outputs, [{ path: 'out/r.csv', sha256: artifact.sha256, bytes: artifact.bytes }]);
    assert.equal(await (await here(artifact.url)).text(), 'a,b\n1,2\n');
    const live = (await t.call('GET', '/v1/sandboxes?status=running')).body.data;
    assert.deepEqual(
      live.map(({ id }: Json) => id),
      [box.id],
    );
  });

  test('a workspace over 2 GiB is told in a last frame, and as 413 in JSON', async () => {
    const fill = { shell: 'fallocate -l 2170000000 fill && echo filled' };
    const json = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, fill);
    assert.deepEqual([json.status, json.body.error.code], [413, 'workspace_too_large']);
    const framed = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, fill, { accept: 'text/event-stream' });
    const frames = String(framed.body)
      .trim()
      .split('\n\n')
      .map((line) => JSON.parse(line.slice(6)));
    const last = frames.at(-1);
    assert.deepEqual([last.type, last.code], ['error', 'workspace_too_large']);
    assert.equal(frames.filter(({ type }) => type === 'exit' || type === 'error').length, 1);
    assert.equal(framed.headers.get('x-svc-cost-estimate'), 'pending');
    assert.equal((await t.exec(box, 'rm fill; echo fine')).stdout, 'fine\n');
  });

  test('a v1 sandbox runs, keeps files and makes a snapshot of its workspace', async () => {
    const v1 = await t.create({ backend: 'v1' });
    assert.equal('restored' in v1, false);
    assert.equal((await t.exec(v1, 'echo v1 > file; whoami')).stdout, 'user\n');
    assert.equal((await t.cell(v1, '6 * 7')).result, '42');
    const { status, body } = await t.call('POST', `/v1/sandboxes/${v1.id}/snapshot`, { name: 'first' });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.object, body.name], ['snapshot', 'first']);
    const tar = new Uint8Array(await (await here(body.url)).arrayBuffer());
    assert.deepEqual([tar.length, sha256(tar)], [body.bytes, body.sha256]);
    assert.ok(Buffer.from(tar).includes('file'));
    const upload = { method: 'PUT', headers: headers(), body: eicar };
    await fetch(`${t.gateway.url}/v1/sandboxes/${v1.id}/files/virus.txt`, upload);
    const infected = (await t.call('POST', `/v1/sandboxes/${v1.id}/snapshot`, {})).body;
    assert.deepEqual([body.scan, infected.scan, 'url' in infected], ['clean', 'infected', false]);
  });

  test('every step of a sandbox is in the audit log, which nothing changes', async () => {
    const { sql } = t.gateway.kernel;
    const rows = await sql<{ action: string }[]>`
      select distinct action from kernel.audit where account_id = ${t.account.id}`;
    const actions = new Set(rows.map(({ action }) => action));
    for (const action of ['create', 'exec', 'write_file', 'read_file', 'artifacts', 'snapshot', 'destroy']) {
      assert.ok(actions.has(`sandboxes.${action}`), action);
    }
    for (const table of ['kernel.audit', 'sandboxes.audit']) {
      for (const change of [`update ${table} set action = 'x'`, `delete from ${table}`, `truncate ${table}`]) {
        await assert.rejects(sql.unsafe(change), /append-only|permission denied/, change);
      }
    }
  });
});
