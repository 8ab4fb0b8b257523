import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  type Json,
  openSandboxes,
  type SandboxesTest,
} from '../apps/server/src/features/sandboxes/sandboxes.testing.ts';

const skip = process.env['SVC_TEST_SANDBOXD'] === undefined ? 'no sandboxes on this machine' : false;
/** Both backends guard files in the same way; gVisor takes twice as long. */
const backends = process.env['SVC_TEST_ESCAPES'] === 'all' ? ['v1', 'v2'] : ['v1'];
/** Rounds of a race; more of them find no more (each is a few openings of a path that changes meanwhile). */
const rounds = 60;

/** Turns `d` and `out/d` from a directory into a link to the host's and back, as fast as it goes. */
const swap = `
import os, sys
host = sys.argv[1]
os.makedirs('real', exist_ok=True); os.makedirs('out', exist_ok=True)
open('real/canary', 'w').write('mine')
def place(path, target):
    os.path.lexists('n') and os.unlink('n')
    os.symlink(target, 'n'); os.rename('n', path)
while not os.path.exists('stop'):
    for path in ('d', 'out/d', 'out/canary'):
        if os.path.isdir(path) and not os.path.islink(path): os.rmdir(path)
        place(path, host if path != 'out/canary' else host + '/canary')
        place(path, os.path.relpath('real', os.path.dirname(path) or '.') if path != 'out/canary' else '../real/canary')
        os.unlink(path); os.mkdir(path) if path != 'out/canary' else open(path, 'w').write('mine')
        if path == 'out/canary': os.unlink(path)
`;

describe('what a sandbox hands out and takes in', { skip }, () => {
  let t: SandboxesTest;
  let dir: string;
  const secret = `secret-${randomUUID()}`;

  before(async () => {
    t = await openSandboxes();
    dir = mkdtempSync(join(tmpdir(), 'svc-escapes-'));
    mkdirSync(join(dir, 'host'), { mode: 0o777 });
    writeFileSync(join(dir, 'host/canary'), secret, { mode: 0o666 });
  });
  after(async () => {
    await t?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const host = () => join(dir, 'host');
  /** The host's directory is as it was. */
  const untouched = (): void => {
    assert.deepEqual(readdirSync(host()), ['canary']);
    assert.equal(readFileSync(join(host(), 'canary'), 'utf8'), secret);
  };
  /** Sends a path as it is: `fetch` would take dots and slashes out of it. */
  async function raw(method: string, path: string, body = ''): Promise<{ status: number; text: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    const { hostname, port } = new URL(t.gateway.url);
    const headers = { authorization: `Bearer ${t.account.key}`, 'content-type': 'application/octet-stream' };
    const sent = request({ hostname, port, method, path, headers, agent: false }, (response) => {
      response.toArray().then((parts) => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  for (const backend of backends) {
    describe(backend, () => {
      let box: Json;
      before(async () => {
        t = await t.fresh();
        box = await t.create({ backend });
      });
      after(() => t.clear());

      const files = (path: string) => `/v1/sandboxes/${box.id}/files/${path}`;
      const collect = () => raw('GET', `/v1/sandboxes/${box.id}/artifacts`);
      beforeEach(async () => {
        await t.exec(box, 'pkill -9 -f [s]wap.py; chmod -R u+w .; find . -mindepth 1 -delete; mkdir -p out');
      });

      test('a path that turns into a link to the host while it is opened leads nowhere', async () => {
        await raw('PUT', files('swap.py'), swap);
        await t.exec(
          box,
          `nohup python3 swap.py ${host()} > swap.log 2>&1 & until [ -e real/canary ]; do sleep 0.05; done`,
        );
        const seen = new Set<number>();
        for (let round = 0; round < rounds; round++) {
          const answers = await Promise.all([
            raw('GET', files('d/canary')),
            raw('PUT', files('d/canary'), 'escaped'),
            raw('PUT', files('d/new'), 'escaped'),
            raw('GET', `/v1/sandboxes/${box.id}/files?path=d`),
            ...(round % 10 === 0 ? [collect()] : []),
          ]);
          for (const { status, text } of answers) {
            assert.ok(!text.includes(secret), text);
            // 503: on a busy machine the node did not answer in time.
            assert.ok(status < 500 || status === 503, `${status} ${text}`);
            seen.add(status);
          }
        }
        assert.ok(seen.has(200), 'the race was run against paths that exist at times');
        await t.exec(box, 'touch stop; pkill -9 -f [s]wap.py');
        untouched();
      });

      test('links, hard links, pipes, sockets and devices are neither read nor handed out', async () => {
        await t.exec(
          box,
          `cd out; ln -s ${host()} dir; ln -s ${host()}/canary file; ln -s /proc/1/environ env; ln ${host()}/canary hard;
          ln /etc/passwd hard2; ln -L /proc/self/exe hard3; mkfifo pipe; mknod dev c 1 5; mknod dev2 b 7 0;
          python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'; echo mine > plain; true`,
        );
        const { status, text } = await collect();
        assert.equal(status, 200, text);
        assert.deepEqual(
          JSON.parse(text).data.map(({ path }: Json) => path),
          ['out/plain'],
        );
        for (const name of [
          'dir',
          'dir/canary',
          'file',
          'env',
          'hard',
          'hard2',
          'hard3',
          'pipe',
          'dev',
          'dev2',
          'sock',
        ]) {
          const got = await raw('GET', files(`out/${name}`));
          assert.ok(got.status >= 400 && got.status < 500, `${name}: ${got.status} ${got.text.slice(0, 200)}`);
          const put = await raw('PUT', files(`out/${name}`), 'escaped');
          assert.ok(put.status < 500, `${name}: ${put.status} ${put.text}`);
        }
        untouched();
      });

      test('a path written in any way stays below /workspace', async () => {
        const up = '../'.repeat(20);
        const target = join(host(), 'canary');
        const spellings = [
          `${up}${target.slice(1)}`,
          `${up.replaceAll('/', '%2f')}${target.slice(1).replaceAll('/', '%2F')}`,
          `${up.replaceAll('.', '%2e')}${target.slice(1)}`,
          `${up.replaceAll('.', '%252e')}${target.slice(1)}`,
          `x/${up.replaceAll('/', '%5c')}${target.slice(1)}`,
          encodeURIComponent(target),
          `/${target}`,
          `%00${encodeURIComponent(target)}`,
          `a%00b`,
          '.',
          '..',
          '%2e%2e',
          `${'a/'.repeat(300)}b`,
          'n'.repeat(300),
          '%ff%fe',
        ];
        for (const path of spellings) {
          const got = await raw('GET', files(path));
          assert.ok(!got.text.includes(secret) && got.status < 500, `${path}: ${got.status} ${got.text}`);
          const put = await raw('PUT', files(path), 'escaped');
          assert.ok(put.status < 500, `${path}: ${put.status} ${put.text}`);
          const list = await raw('GET', `/v1/sandboxes/${box.id}/files?path=${path}`);
          assert.ok(!list.text.includes('canary') && list.status < 500, `${path}: ${list.status} ${list.text}`);
        }
        for (const path of ['../x', '/etc/x', 'a/../../x', '..']) {
          const body = { shell: 'pwd', cwd: path, inputs: [{ path: `../${path}`, url: 'http://127.0.0.1/' }] };
          const { status } = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, body);
          assert.equal(status, 400, path);
        }
        untouched();
      });

      test('names of any bytes are handed out as they are, and break no header', async () => {
        const names = [
          'new\nline',
          'quote"; x="',
          'back\\slash',
          '%2e%2e%2fx',
          '-rf',
          ' ',
          'tab\tă\u202e',
          '<img src=x>',
        ];
        const code = `import os\nos.makedirs('out', exist_ok=True)\nfor n in ${JSON.stringify(names)}: open('out/' + n, 'w').write('mine')\nopen(b'out/\\xff\\xfe', 'w').write('mine')`;
        assert.equal((await t.exec(box, { language: 'python', code })).exit_code, 0);
        const { status, text } = await collect();
        assert.equal(status, 200, text);
        const { data } = JSON.parse(text);
        const paths = data.map(({ path }: Json) => path);
        for (const name of names) assert.ok(paths.includes(`out/${name}`), JSON.stringify([name, paths]));
        for (const { url, path } of data) {
          const { pathname, search } = new URL(url);
          const answer = await fetch(t.gateway.url + pathname + search);
          assert.equal(await answer.text(), 'mine', path);
          assert.match(answer.headers.get('content-disposition') ?? '', /^attachment/);
          assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
        }
      });

      test('a file larger than a workspace may be, and ten thousand files, harm nobody else', async () => {
        await t.exec(box, 'truncate -s 3G out/huge huge');
        const other = await t.create({ backend });
        const [collected, read] = await Promise.all([
          collect(),
          raw('HEAD', files('huge')),
          t.exec(other, 'echo well'),
        ]);
        // A copy of it would be more of the platform's disk than a sandbox has.
        assert.ok(collected.status >= 400 && collected.status < 500, `${collected.status} ${collected.text}`);
        assert.ok(read.status < 500, `${read.status}`);
        await t.exec(box, { shell: 'cd out && seq 10000 | xargs touch', timeout_seconds: 60 });
        const many = await collect();
        assert.ok(many.status < 500, `${many.status} ${many.text.slice(0, 300)}`);
        assert.equal((await t.exec(box, 'rm -rf out; echo alive')).stdout, 'alive\n');
      });
    });
  }
});
