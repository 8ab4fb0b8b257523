// What the first page of the hub asks for, on an account that has many of everything: the overview, a search by name, a page of
// monitors.
import { openDatabase } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { fill } from './hub/fill.ts';
import { Connection, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atMost, bench } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

const flags = { monitors: 10_000, schedules: 1_000, runs: 100_000, requests: 300 };

await bench('hub', flags, async ({ requests, ...many }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  const embedded = findRunning(dataDir.path);
  if (!embedded) throw new Error('the database does not run');
  const sql = openDatabase({ embedded, database: 'svc' }, 1);
  say(`${many.monitors} monitors, ${many.schedules} schedules, ${many.runs} runs`);
  await fill(sql, many);
  await sql.end();
  const connection = await Connection.open(platform.port);
  const headers = { authorization: `Bearer ${platform.key}` };
  const measure = async (path: string): Promise<{ ms: number[]; bytes: number }> => {
    const ms: number[] = [];
    let bytes = 0;
    for (let at = 0; at < requests; at += 1) {
      const from = performance.now();
      const { status, body } = await connection.exchange(requestText('GET', path, headers));
      if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
      ms.push(performance.now() - from);
      bytes = Buffer.byteLength(body);
    }
    // The first ones plan their queries.
    return { ms: ms.slice(requests / 10), bytes };
  };
  const overview = await measure('/v1/overview');
  const find = await measure('/v1/overview/find?q=monitor%2099');
  const list = await measure('/v1/heartbeats?sort=trouble&limit=100&days=30');
  const row = (what: string, { ms, bytes }: typeof overview) => ({
    what,
    'p50 ms': percentile(ms, 0.5),
    'p99 ms': percentile(ms, 0.99),
    bytes,
  });
  return {
    rows: [row('overview', overview), row('find by name', find), row('monitors, worst first, 30 days', list)],
    targets: [
      atMost('p50 ms of the overview', percentile(overview.ms, 0.5), 15),
      atMost('bytes of the overview', overview.bytes, 20_000),
      atMost('p50 ms of a search by name', percentile(find.ms, 0.5), 30),
    ],
  };
});
