// Files and previews of sandboxes: small writes, a large artifact beside a bare scan, a preview beside a bare nginx.
import { randomBytes } from 'node:crypto';
import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createScanner } from '../apps/sandboxd/src/scan/scanner.ts';
import { createSystemPackages } from '../apps/sandboxd/src/system-packages.ts';
import { type Platform, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { freePort, start } from './lib/processes.ts';
import { atMost, bench, type Row, type Target } from './lib/report.ts';
import { images, nodeIn } from './lib/sandboxes.ts';
import { median, percentile } from './lib/stats.ts';
import { ensureTool } from './lib/tools.ts';

const mib = 1024 * 1024;
const largeBytes = 100 * mib;
const pageBytes = 64 * mib;

await bench('files', { writes: 200, requests: 300 }, async ({ writes, requests }, say) => {
  ensureTool('nginx');
  using dataDir = temporaryDataDir();
  using _node = nodeIn(join(dataDir.path, 'sandboxd'));
  await using platform = await startPlatform(dataDir.path, { SVC_SANDBOX_IMAGES: images, SVC_SANDBOX_WARM: '0' });
  const large = join(dataDir.path, 'large');
  writeFileSync(large, randomBytes(largeBytes));
  const rows: Row[] = [];
  const targets: Target[] = [];
  say('a bare scan');
  const bareMs = await bareScan(large);
  await using nginx = await startNginx(dataDir.path);
  say('a bare nginx');
  const bare = await pages(nginx.url, requests);
  rows.push({ what: 'bare nginx', ...bare });
  for (const backend of ['v2', 'v1']) {
    const call = caller(platform);
    const { id } = (await (await call('POST', '', JSON.stringify({ backend }))).json()) as { id: string };
    say(`${backend}: ${writes} small files`);
    // The first run compiles the code and starts clamd: the figures leave both out.
    await durations(writes, (n) => call('PUT', `/${id}/files/out/first-${n % 2}`, randomBytes(1024)));
    await once(() => call('GET', `/${id}/artifacts`));
    const small = await durations(writes, (n) => call('PUT', `/${id}/files/small/${n}`, randomBytes(1024)));
    rows.push({ what: `${backend}: PUT of 1 KiB`, 'p50 ms': ms(median(small)), 'p99 ms': ms(percentile(small, 0.99)) });
    targets.push(atMost(`${backend}: PUT of 1 KiB, p50 ms`, ms(median(small)), 10));
    say(`${backend}: an artifact of 100 MiB`);
    const put = await once(() => call('PUT', `/${id}/files/out/large`, createReadStream(large)));
    const first = await once(() => call('GET', `/${id}/artifacts`));
    const second = await once(() => call('GET', `/${id}/artifacts`));
    rows.push({ what: `${backend}: PUT of 100 MiB`, 'p50 ms': ms(put) });
    rows.push({
      what: `${backend}: its first collection`,
      'p50 ms': ms(first),
      'of a bare scan': ratio(first, bareMs),
    });
    rows.push({ what: `${backend}: its second collection`, 'p50 ms': ms(second) });
    targets.push(atMost(`${backend}: first collection, of a bare scan`, ratio(first, bareMs), 2));
    say(`${backend}: a preview`);
    const serve = `mkdir -p www; head -c 1024 /dev/urandom > www/small; head -c ${pageBytes} /dev/urandom > www/large
      cd www; nohup python3 -m http.server 3000 --bind 127.0.0.1 > /dev/null 2>&1 &
      until curl -s localhost:3000/small > /dev/null; do sleep 0.1; done`;
    await call('POST', `/${id}/exec`, JSON.stringify({ shell: serve }));
    const preview = (await (await call('POST', `/${id}/preview`, '{"port":3000}')).json()) as { url: string };
    const [, token, port] = /^http:\/\/(\w+)\.localhost:(\d+)\//.exec(preview.url) ?? [];
    const seen = await pages(`http://127.0.0.1:${port}/${token}`, requests);
    rows.push({
      what: `${backend}: preview of python -m http.server`,
      ...seen,
      'of bare nginx': ratio(seen['p50 ms'], bare['p50 ms']),
    });
    targets.push(atMost(`${backend}: preview, p50 ms`, seen['p50 ms'], 10));
    await call('DELETE', `/${id}`);
  }
  rows.push({ what: 'bare scan of 100 MiB', 'p50 ms': ms(bareMs) });
  return { rows, targets };
});

type Call = (method: string, path: string, body?: string | Buffer | NodeJS.ReadableStream) => Promise<Response>;

function caller({ port, key }: Platform): Call {
  return async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/sandboxes${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: body as never, duplex: 'half' as const }),
    });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
}

function ms(value: number): number {
  return Math.round(value * 10) / 10;
}

function ratio(ours: number, bare: number): number {
  return Math.round((ours / bare) * 100) / 100;
}

async function once(work: () => Promise<Response>): Promise<number> {
  const began = performance.now();
  await (await work()).arrayBuffer();
  return performance.now() - began;
}

async function durations(count: number, work: (n: number) => Promise<Response>): Promise<number[]> {
  const taken: number[] = [];
  for (let n = 0; n < count; n += 1) taken.push(await once(() => work(n)));
  return taken;
}

/** Requests one after the other, and how fast a large file comes. */
async function pages(url: string, requests: number) {
  const taken = await durations(requests, () => fetch(`${url}/small`));
  const largeMs = await once(() => fetch(`${url}/large`));
  const rate = Math.round(pageBytes / mib / (largeMs / 1000));
  return { 'p50 ms': ms(median(taken)), 'p99 ms': ms(percentile(taken, 0.99)), 'MiB/s': rate };
}

async function bareScan(file: string): Promise<number> {
  const scanner = createScanner({ packages: createSystemPackages(true) });
  try {
    // clamd takes its time to start.
    await scanner.scan(createReadStream(file, { end: 0 }));
    const began = performance.now();
    const { verdict } = await scanner.scan(createReadStream(file));
    if (verdict !== 'clean') throw new Error(`the scan says ${verdict}`);
    return performance.now() - began;
  } finally {
    await scanner.close();
  }
}

async function startNginx(dir: string): Promise<AsyncDisposable & { url: string }> {
  const root = join(dir, 'nginx');
  mkdirSync(root);
  writeFileSync(join(root, 'small'), randomBytes(1024));
  writeFileSync(join(root, 'large'), randomBytes(pageBytes));
  const port = await freePort();
  const conf = join(dir, 'nginx.conf');
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${dir}/${name};`,
  );
  writeFileSync(
    conf,
    `daemon off; pid ${dir}/nginx.pid; error_log ${dir}/nginx.log; user root; events {}
    http { access_log off; sendfile on; ${places.join(' ')} server { listen 127.0.0.1:${port}; root ${root}; } }`,
  );
  const running = start('nginx', ['-c', conf], { PATH: process.env['PATH'] ?? '' });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(url).catch(() => undefined))) await new Promise((resolve) => setTimeout(resolve, 20));
  return { url, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}
