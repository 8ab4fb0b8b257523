// A weak key calls every operation that its scopes allow with the dearest body that its schema admits: how long each keeps the
// gateway's thread, by the delay of its event loop.
import { atMost, bench, type Row } from './lib/report.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { freePort } from './lib/processes.ts';
import { type DearCall, dearestCalls, type Document } from '../e2e/attacks/dearest.ts';

const askedMs = 50;
/** Delay of an idle thread: its timer's own resolution. */
const restMs = 10;
const shownMost = 15;

await bench('calls', { times: 3 }, async ({ times }, say) => {
  using dataDir = temporaryDataDir();
  const metricsPort = await freePort();
  await using platform = await startPlatform(dataDir.path, { SVC_METRICS_PORT: String(metricsPort) });
  const url = `http://127.0.0.1:${platform.port}`;
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  const key = await weakKey(url, platform.key, document);
  const ask = async ({ method, path, body }: DearCall): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    // Streams never end by themselves.
    const signal = AbortSignal.timeout(5_000);
    try {
      const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body }), signal });
      if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) await answer.arrayBuffer();
      else await answer.body?.cancel();
      return answer.status;
    } catch {
      return 0;
    }
  };
  const delay = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1_000 - restMs;
  };
  const rows: (Row & { 'longest ms': number })[] = [];
  for (const call of dearestCalls(document)) {
    const seen: number[] = [];
    let status = 0;
    for (let n = 0; n < times; n++) {
      await delay();
      status = await ask(call);
      seen.push(await delay());
    }
    // The least of the longest: what the call costs, and not what the machine did meanwhile.
    const longest = Math.round(Math.min(...seen) * 10) / 10;
    rows.push({
      operation: call.id,
      status,
      'body kB': Math.round((call.body?.length ?? 0) / 1_000),
      'longest ms': longest,
    });
    if (longest > askedMs) say(`${call.id}: ${longest} ms`);
  }
  const dear = rows.toSorted((a, b) => b['longest ms'] - a['longest ms']);
  return {
    rows: dear.slice(0, shownMost),
    targets: [atMost(`longest of ${rows.length} operations, ms`, dear[0]?.['longest ms'] ?? 0, askedMs)],
  };
});

/** A key of every scope but `*`, at the lowest level. */
async function weakKey(url: string, owner: string, { paths }: Document): Promise<string> {
  const ids = Object.values(paths).flatMap((operations) =>
    Object.values(operations).map(({ operationId }) => operationId),
  );
  const scopes = [...new Set(ids.map((id) => id.split('.')[0]))];
  for (;;) {
    const headers = { authorization: `Bearer ${owner}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'weak', scopes, tool_level: 'l0' });
    const answer = await fetch(`${url}/v1/keys`, { method: 'POST', headers, body });
    const made = (await answer.json()) as { key?: string; error?: { details?: { fieldErrors?: object } } };
    if (made.key !== undefined) return made.key;
    // Features without a key's scope, such as health.
    const wrong = Object.keys(made.error?.details?.fieldErrors ?? {}).map((path) => Number(path.split('.')[1]));
    if (wrong.length === 0) throw new Error(JSON.stringify(made));
    for (const at of wrong.toSorted((a, b) => b - a)) scopes.splice(at, 1);
  }
}
