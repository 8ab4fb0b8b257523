// From a ping that makes a monitor go down or recover to the frame of its notification on an open stream.
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, openEvents, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atMost, bench } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

const waitMs = 5_000;

await bench('notifications', { count: 500 }, async ({ count }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  const { port, key } = platform;
  const headers = { authorization: `Bearer ${key}` };
  const connection = await Connection.open(port);
  const body = JSON.stringify({ name: 'bench', period_s: 86_400 });
  const made = await connection.exchange(requestText('POST', '/v1/heartbeats', headers, body));
  const { pathname } = new URL((JSON.parse(made.body) as { ping_url: string }).ping_url);
  let arrived = (): void => {};
  const opening = openEvents(port, requestText('GET', '/v1/notifications/stream', headers), () => arrived());
  const pingOf = (index: number): string => requestText('GET', index % 2 === 0 ? `${pathname}/fail` : pathname, {});
  // The stream is open once a frame has come; the first pings may be before it.
  let index = 0;
  for (let open = false; !open; ) {
    await connection.exchange(pingOf(index++));
    open = await Promise.race([opening.then(() => true), delay(100, false)]);
  }
  await delay(500);
  say(`${count} transitions, one after the other`);
  const [toFrame, toAnswer]: [number[], number[]] = [[], []];
  let failed = 0;
  for (let i = 0; i < count; i++) {
    const frame = new Promise<boolean>((resolve) => (arrived = () => resolve(true)));
    const began = performance.now();
    const framed = frame.then(() => performance.now() - began);
    await connection.exchange(pingOf(index++));
    toAnswer.push(performance.now() - began);
    const ms = await Promise.race([framed, delay(waitMs)]);
    if (ms === undefined) failed += 1;
    else toFrame.push(ms);
  }
  (await opening).close();
  connection.close();
  const rowOf = (what: string, values: number[]) => ({
    what,
    'p50 ms': percentile(values, 0.5),
    'p99 ms': percentile(values, 0.99),
    failed,
  });
  return {
    rows: [rowOf('ping answered', toAnswer), rowOf('frame on the stream', toFrame)],
    targets: [
      atMost('p99 ms to the frame', percentile(toFrame, 0.99), 100),
      atMost('frames that did not come', failed, 0),
    ],
  };
});
