// A household that is backed up while requests are served, beside the same without; and how long a restore takes.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Platform, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atMost, bench, type Row } from './lib/report.ts';
import { median, percentile } from './lib/stats.ts';

const svc = resolve(import.meta.dirname, '../svc');
const run = promisify(execFile);
const passphrase = { SVC_BACKUP_PASSPHRASE: 'a passphrase of a bench' };
const noSandboxes = { SVC_SANDBOXD_SOCKET: '/nowhere/sandboxd.sock', SVC_RATE_REQUESTS: '100000000' };

await bench('backup', { megabytes: 100, rate: 200, rounds: 3 }, async ({ megabytes, rate, rounds }, say) => {
  using folder = temporaryDataDir();
  const dataDir = join(folder.path, 'data');
  await using platform = await startPlatform(dataDir, noSandboxes);
  say(`filling a household with ${megabytes} MB`);
  const ping = await fill(platform, megabytes);
  const quiet: number[] = [];
  const busy: number[] = [];
  const took: number[] = [];
  let failed = 0;
  let file = '';
  await underLoad(platform, ping, rate, () => delay(3_000));
  for (let round = 1; round <= rounds; round += 1) {
    say(`round ${round} of ${rounds}: ${rate} requests a second, with a backup and for as long without`);
    file = join(folder.path, `${round}.tar.zst`);
    const during = await underLoad(platform, ping, rate, () =>
      run(svc, ['backup', 'create', file, '--data-dir', dataDir], { env: { ...plain(), ...passphrase } }),
    );
    const without = await underLoad(platform, ping, rate, () => delay(during.ms));
    took.push(during.ms / 1_000);
    busy.push(percentile(during.latencies, 0.99));
    quiet.push(percentile(without.latencies, 0.99));
    failed += during.failed + without.failed;
  }
  say('restoring the last one');
  const begun = performance.now();
  const restored = join(folder.path, 'restored');
  await run(svc, ['restore', file, '--data-dir', restored], { env: { ...plain(), ...passphrase } });
  const restoreSeconds = (performance.now() - begun) / 1_000;
  const ratio = median(busy.map((each, at) => each / (quiet[at] ?? Number.NaN)));
  const rows: Row[] = [
    { what: 'without a backup', 'p99 ms': median(quiet) },
    { what: 'with a backup', 'p99 ms': median(busy), 'of without': ratio },
    { what: 'a backup, s', 'p99 ms': median(took) },
    { what: 'its file, MB', 'p99 ms': Math.round(statSync(file).size / 1e6) },
    { what: 'a restore, s', 'p99 ms': restoreSeconds },
  ];
  return {
    rows,
    targets: [
      atMost('p99 with a backup, of that without', ratio, 1.5),
      atMost('a restore, s', restoreSeconds, 60),
      atMost('requests that failed', failed, 0),
    ],
  };
});

/** The environment without settings of who runs this. */
function plain() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_')));
}

async function ask({ port, key }: Platform, path: string, body: object): Promise<Record<string, string>> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, string>;
}

/** Schedules, monitors and prompts; a third of the bytes are texts in the database, the rest are recordings. Answers a ping's path. */
async function fill(platform: Platform, megabytes: number): Promise<string> {
  let ping = '';
  for (let n = 0; n < 20; n += 1)
    await ask(platform, '/v1/schedules', {
      name: `schedule ${n}`,
      kind: 'http',
      spec: { method: 'GET', url: 'https://example.com/' },
      trigger: { type: 'interval', every_s: 86_400 },
      target: { type: 'cloud' },
    });
  for (let n = 0; n < 10; n += 1) {
    const monitor = await ask(platform, '/v1/heartbeats', { name: `monitor ${n}`, period_s: 86_400 });
    ping = new URL(monitor['ping_url'] ?? '').pathname;
  }
  const text = (bytes: number) => randomBytes(bytes / 2).toString('hex');
  for (let n = 0; n < megabytes / 3 / 0.05; n += 1)
    await ask(platform, '/v1/prompts', { prompt: `${n} ${text(50_000)}` });
  for (let left = (megabytes * 2) / 3; left > 0; left -= 8) await upload(platform, Math.min(8, left) * 1e6);
  return ping;
}

async function upload({ port, key }: Platform, bytes: number): Promise<void> {
  const body = randomBytes(bytes);
  const answer = await fetch(`http://127.0.0.1:${port}/v1/uploads`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'tus-resumable': '1.0.0',
      'upload-length': String(body.length),
      'content-type': 'application/offset+octet-stream',
    },
    body,
  });
  if (answer.status !== 201) throw new Error(`upload: ${answer.status} ${await answer.text()}`);
}

/** Asks at a steady rate, whatever the answers take, until `work` is done. */
async function underLoad(platform: Platform, ping: string, rate: number, work: () => Promise<unknown>) {
  const latencies: number[] = [];
  const waiting = new Set<Promise<void>>();
  const state = { over: false };
  let [failed, sent] = [0, 0];
  const begun = performance.now();
  const done = work().finally(() => (state.over = true));
  done.catch(() => {});
  while (!state.over) {
    const due = Math.floor(((performance.now() - begun) / 1_000) * rate);
    for (; sent < due; sent += 1) {
      const at = performance.now();
      const one = send(platform, ping, sent)
        .then(() => void latencies.push(performance.now() - at))
        .catch(() => void (failed += 1))
        .finally(() => waiting.delete(one));
      waiting.add(one);
    }
    await delay(2);
  }
  await done;
  const ms = performance.now() - begun;
  await Promise.all(waiting);
  return { latencies, failed, ms };
}

/** Of ten requests seven read, two are pings, one writes a prompt. */
async function send({ port, key }: Platform, ping: string, n: number): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const kind = n % 10;
  const answer =
    kind < 7
      ? await fetch(`${url}/v1/devices`, { headers })
      : kind < 9
        ? await fetch(url + ping, { method: 'POST' })
        : await fetch(`${url}/v1/prompts`, {
            method: 'POST',
            headers,
            body: JSON.stringify({ prompt: `load ${n} ${Math.random()}` }),
          });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(String(answer.status));
}
