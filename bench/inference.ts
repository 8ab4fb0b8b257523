// The gateway's overhead on a model request: latency and requests a second beside @portkey-ai/gateway, with the same
// provider behind both; many streams at once, their memory; the cost of a translation.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Protocol, SseReader, wires } from '@svc/inference';
import { answers } from '../apps/server/src/features/inference/inference.testing.ts';
import { startPeer, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { freePort, memoryOf, start } from './lib/processes.ts';
import { atLeast, atMost, bench, type Row, type Target } from './lib/report.ts';
import { median } from './lib/stats.ts';
import { ensureTool } from './lib/tools.ts';
import { type Load, wrk } from './lib/wrk.ts';

const body = JSON.stringify({ model: 'small-1', messages: [{ role: 'user', content: 'How are you today?' }] });
const settings = { SVC_RATE_REQUESTS: '100000000', SVC_LOG_LEVEL: 'warn' };
const round = (figure: number, digits = 2): number => Number(figure.toFixed(digits));

interface Server {
  readonly who: string;
  readonly url: string;
  readonly headers: Record<string, string>;
}

await bench('inference', { seconds: 4, rounds: 5, streams: 1_000, chunks: 200, leavers: 100 }, async (options, say) => {
  ensureTool('wrk');
  using dataDir = temporaryDataDir();
  await using provider = await startPeer('models', '20');
  const upstream = `http://127.0.0.1:${provider.port}/v1`;
  const file = join(dataDir.path, 'providers.json');
  writeFileSync(
    file,
    JSON.stringify({ lanes: [{ id: 'main', kind: 'openai', base_url: upstream, models: ['small-1'] }] }),
  );
  await using platform = await startPlatform(dataDir.path, { ...settings, SVC_PROVIDERS: file });
  const portkeyPort = await freePort();
  const portkeyFile = createRequire(import.meta.url).resolve('@portkey-ai/gateway/build/start-server.js');
  await using _portkey = await startPortkey(portkeyFile, portkeyPort);
  const json = { 'content-type': 'application/json' };
  const servers: Server[] = [
    { who: 'provider itself', url: `${upstream}/chat/completions`, headers: json },
    {
      who: 'svc',
      url: `http://127.0.0.1:${platform.port}/v1/chat/completions`,
      headers: { ...json, authorization: `Bearer ${platform.key}` },
    },
    {
      who: 'portkey',
      url: `http://127.0.0.1:${portkeyPort}/v1/chat/completions`,
      headers: {
        ...json,
        authorization: 'Bearer x',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': upstream,
      },
    },
  ];
  for (const server of servers) await oneAnswer(server);

  const rows: Row[] = [];
  const targets: Target[] = [];
  const rowsOf = async (what: string, connections: number): Promise<Map<string, Load>> => {
    say(`${what}: ${options.rounds} rounds of ${options.seconds} s each`);
    const found = await loadAll(servers, { seconds: options.seconds, connections }, options.rounds);
    for (const [who, load] of found) {
      const { perSecond, p50, p99, failed } = load;
      rows.push({ what: `${who}, ${what}`, 'requests/s': Math.round(perSecond), 'p50 ms': p50, 'p99 ms': p99, failed });
    }
    return found;
  };
  const alone = await rowsOf('one at a time', 1);
  const added = (pick: 'p50' | 'p99'): number =>
    round((alone.get('svc')?.[pick] ?? 0) - (alone.get('provider itself')?.[pick] ?? 0));
  targets.push(atMost('added at one at a time, p50 ms', added('p50'), 0.8));
  targets.push(atMost('added at one at a time, p99 ms', added('p99'), 3));
  const many = await rowsOf('32 at a time', 32);
  targets.push(atLeast('requests/s of a process', Math.round(many.get('svc')?.perSecond ?? 0), 1_800));
  const [svc] = servers.filter(({ who }) => who === 'svc');
  await streamed(svc as Server, { upstream, pid: platform.pid, ...options }, say, { rows, targets });
  rows.push(...translations());
  return { rows, targets };
});

/** Measures the cost of streams, and how fast one ends whose client left. */
async function streamed(
  svc: Server,
  {
    upstream,
    pid,
    streams,
    chunks,
    leavers,
  }: { upstream: string; pid: number } & Record<'streams' | 'chunks' | 'leavers', number>,
  say: (what: string) => void,
  { rows, targets }: { rows: Row[]; targets: Target[] },
): Promise<void> {
  say(`${streams} streams of ${chunks} chunks at once`);
  const seen = await manyStreams(svc, pid, streams, chunks);
  rows.push({ what: `svc, ${streams} streams at once`, ...seen });
  targets.push(atMost('frames that were lost', seen['lost frames'], 0));
  say(`${leavers} clients that leave in the middle of a stream`);
  const late = await leave(svc, upstream, leavers);
  rows.push({
    what: 'svc, until the provider knows that a client left',
    'p50 ms': round(median(late)),
    'longest ms': round(Math.max(...late)),
  });
  targets.push(atMost('provider aborted after a client left, longest ms', round(Math.max(...late)), 100));
}

async function startPortkey(file: string, port: number) {
  const running = start(process.execPath, [file, `--port=${port}`, '--headless']);
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer) return running;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Each answers the same before anything is measured. */
async function oneAnswer({ who, url, headers }: Server): Promise<void> {
  const answer = await fetch(url, { method: 'POST', headers, body });
  const said = (await answer.json()) as { choices?: { message: { content: string } }[] };
  if (said.choices?.[0]?.message.content !== 'Hello, how are you?') throw new Error(`${who}: ${JSON.stringify(said)}`);
}

/** Loads the servers in turn; the median of each figure. */
async function loadAll(servers: readonly Server[], load: { seconds: number; connections: number }, rounds: number) {
  const loads = new Map(servers.map(({ who }) => [who, [] as Load[]]));
  for (const { url, headers } of servers) await wrk(url, { ...load, headers, body, seconds: 2 });
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const { who, url, headers } of servers) loads.get(who)?.push(await wrk(url, { ...load, headers, body }));
  }
  return new Map(
    [...loads].map(([who, all]): [string, Load] => {
      const middle = (pick: (one: Load) => number): number => median(all.map(pick));
      const sum = (pick: (one: Load) => number): number => all.reduce((total, one) => total + pick(one), 0);
      return [
        who,
        {
          perSecond: middle((one) => one.perSecond),
          p50: middle((one) => one.p50),
          p99: middle((one) => one.p99),
          failed: sum((one) => one.failed),
          requests: sum((one) => one.requests),
        },
      ];
    }),
  );
}

/** Opens many streams, and counts what each brings. */
async function manyStreams({ url, headers }: Server, pid: number, count: number, chunks: number) {
  const before = memoryOf(pid).rss;
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, memoryOf(pid).rss)), 200);
  const asked = JSON.stringify({ ...JSON.parse(body), stream: true, max_tokens: chunks });
  const began = performance.now();
  const frames = await Promise.all(
    Array.from({ length: count }, async () => {
      const answer = await fetch(url, { method: 'POST', headers, body: asked });
      const text = await answer.text();
      return text.endsWith('data: [DONE]\n\n') ? (text.match(/word \d+ /g)?.length ?? 0) : 0;
    }),
  ).finally(() => clearInterval(watch));
  const got = frames.reduce((sum, one) => sum + one, 0);
  return {
    'lost frames': count * chunks - got,
    'frames/s': Math.round(got / ((performance.now() - began) / 1000)),
    'kB a stream': Math.round(((peak - before) * 1.024) / count),
  };
}

/** Leaves streams one after the other; answers how long each time passed until the provider's connection was closed. */
async function leave({ url, headers }: Server, provider: string, count: number): Promise<number[]> {
  const asked = JSON.stringify({ ...JSON.parse(body), stream: true, max_tokens: 500 });
  const before = ((await (await fetch(provider)).json()) as number[]).length;
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const abort = new AbortController();
    const answer = await fetch(url, { method: 'POST', headers, body: asked, signal: abort.signal });
    await answer.body?.getReader().read();
    times.push(performance.timeOrigin + performance.now());
    abort.abort();
  }
  for (;;) {
    const left = ((await (await fetch(provider)).json()) as number[]).slice(before);
    // They left in turn, and all are gone: the nth of the provider is about the nth of ours.
    if (left.length === count) return left.map((one, nth) => one - (times[nth] ?? one));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Milliseconds for 1,000 events of each lane's protocol, read and written for a client of chat completions. */
function translations(): Row[] {
  return (['messages', 'responses', 'chat'] as Protocol[]).map((lane) => {
    const bytes = Buffer.from(answers[lane].stream.join(''));
    const client: Protocol = lane === 'chat' ? 'messages' : 'chat';
    let events = 0;
    const began = performance.now();
    while (performance.now() - began < 1_000) {
      const [reader, writer] = [wires[lane].reader(), wires[client].writer({ created: 1, tellsUsage: true })];
      for (const frame of new SseReader().push(bytes)) {
        for (const event of reader.push(frame)) {
          writer.push(event);
          events += 1;
        }
      }
    }
    return { what: `${lane} for a client of ${client}`, 'ms for 1,000 events': round(1_000_000 / events) };
  });
}
