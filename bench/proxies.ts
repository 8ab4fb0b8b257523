// Requests that come at once through what people put in front: HAProxy at layer 4, nginx and Caddy, beside none. Each request has
// a connection of its own; all of them reach the gateway from one address. None may be lost.
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { freePort, start } from './lib/processes.ts';
import { atMost, bench, type Row } from './lib/report.ts';
import { percentile } from './lib/stats.ts';
import { ensureTool } from './lib/tools.ts';

interface Front {
  readonly who: string;
  /** What its file says, for a port of its own and that of the gateway. */
  readonly file: (port: number, to: number, folder: string) => string;
  readonly command: (file: string) => readonly [string, ...string[]];
}

const fronts: readonly Front[] = [
  {
    who: 'haproxy',
    file: (port, to) => `global
  maxconn 4000
defaults
  mode tcp
  timeout connect 30s
  timeout client 60s
  timeout server 60s
frontend in
  bind 127.0.0.1:${port}
  default_backend out
backend out
  server svc 127.0.0.1:${to}
`,
    command: (file) => ['haproxy', '-f', file],
  },
  {
    who: 'nginx',
    file: (port, to, folder) => `daemon off;
pid ${join(folder, 'nginx.pid')};
events { worker_connections 8000; }
http {
  access_log off;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://127.0.0.1:${to}; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`,
    command: (file) => ['nginx', '-e', 'stderr', '-c', file],
  },
  {
    who: 'caddy',
    file: (port, to) => `{
  admin off
}
http://127.0.0.1:${port} {
  reverse_proxy 127.0.0.1:${to}
}
`,
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
];

await bench('proxies', { requests: 1_000, rounds: 3 }, async ({ requests, rounds }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  const rows: Row[] = [];
  let lost = 0;
  const measure = async (who: string, port: number): Promise<void> => {
    say(`${requests} at once, ${who}`);
    const latencies: number[] = [];
    for (let round = 0; round < rounds; round++) latencies.push(...(await atOnce(port, platform.key, requests)));
    const failed = requests * rounds - latencies.length;
    lost += failed;
    rows.push({ front: who, 'p50 ms': percentile(latencies, 0.5), 'p99 ms': percentile(latencies, 0.99), failed });
  };
  await measure('none', platform.port);
  for (const { who, file, command } of fronts) {
    ensureTool(who);
    const [port, path] = [await freePort(), join(dataDir.path, `${who}.conf`)];
    writeFileSync(path, file(port, platform.port, dataDir.path));
    const [program, ...args] = command(path);
    await using _front = start(program, args);
    await isListening(port);
    await measure(who, port);
  }
  return { rows, targets: [atMost('requests lost', lost, 0)] };
});

/** Milliseconds of each that was answered with 200. */
async function atOnce(port: number, key: string, count: number): Promise<number[]> {
  const request = requestText('GET', '/v1/keys', { authorization: `Bearer ${key}` });
  const began = performance.now();
  const one = async (): Promise<number | undefined> => {
    const connection = await Connection.open(port);
    const { status } = await connection.exchange(request);
    connection.close();
    return status === 200 ? performance.now() - began : undefined;
  };
  const all = await Promise.all(Array.from({ length: count }, () => one().catch(() => undefined)));
  return all.filter((ms) => ms !== undefined);
}

async function isListening(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (open) return;
    await delay(20);
  }
  throw new Error('it does not listen');
}
