// Every operation that reads, in an account that has thousands of everything, 16 at once: the longest turn of the gateway's loop,
// and how long a small request of another account takes meanwhile.
import { createAccount, masterKey, startGateway } from '../apps/server/src/testing.ts';
import { crowd, prepareAll } from '../apps/server/src/testing.crowd.ts';
import { routeOf, Scene, sendRequest } from '../apps/server/src/testing.examples.ts';
import { type ExampleWorld, openExampleWorld } from '../apps/server/src/testing.world.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { migrate } from '../apps/server/src/kernel/db/migrate.ts';
import { prepareApplicationRole } from '../apps/server/src/kernel/db/role.ts';
import { openDatabase } from '../apps/server/src/kernel/db/db.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { freePort } from './lib/processes.ts';
import { atMost, bench, type Row } from './lib/report.ts';

const flags = { copies: 2_500, times: 16, shown: 15 };
/** Delay of an idle thread: its timer's own resolution. */
const restMs = 10;

await bench('crowd', flags, async ({ copies, times, shown }, say) => {
  await using opening = new AsyncDisposableStack();
  const metricsPort = await freePort();
  const world = opening.use(await openExampleWorld());
  // What bounds an account is not what is measured.
  const free = { SVC_RATE_REQUESTS: '100000000', SVC_LOG_LEVEL: 'warn' };
  const settings = { ...world.settings, ...free, SVC_MASTER_KEY: masterKey, SVC_METRICS_PORT: String(metricsPort) };
  const { scene, other, requests, address } = await prepare(opening, { world, free, copies }, say);
  const ownDir = opening.use(temporaryDataDir());
  const platform = opening.use(await startPlatform(ownDir.path, { ...settings, SVC_DATABASE_URL: address }));
  const url = `http://127.0.0.1:${platform.port}`;

  const delay = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1_000 - restMs;
  };
  /** What is over by the time that it is asked for: the things were made on another clock. */
  const refused = new Set<string>();
  const rows: (Row & { turn: number; wait: number })[] = [];
  for (const [id, request] of requests) {
    await delay();
    const asked = { isOver: false };
    let bytes = 0;
    const ask = async (): Promise<void> => {
      const answer = await sendRequest(scene, routeOf(id), request, { url });
      bytes = (await answer.arrayBuffer()).byteLength;
      if (!answer.ok) refused.add(`${id} ${answer.status}`);
    };
    const all = Promise.all(Array.from({ length: times }, ask)).finally(() => Object.assign(asked, { isOver: true }));
    const small: number[] = [];
    while (!asked.isOver) {
      const began = performance.now();
      await (await fetch(`${url}/v1/devices`, { headers: { authorization: `Bearer ${other.key}` } })).arrayBuffer();
      small.push(performance.now() - began);
    }
    await all;
    rows.push({ operation: id, kB: Math.round(bytes / 1_000), turn: await delay(), wait: Math.max(...small) });
  }
  if (refused.size > 0) say(`not answered: ${[...refused].join(', ')}`);
  const turn = Math.max(...rows.map((row) => row.turn));
  const wait = Math.max(...rows.map((row) => row.wait));
  return {
    rows: rows
      .sort((one, two) => Math.max(two.turn, two.wait / 2.5) - Math.max(one.turn, one.wait / 2.5))
      .slice(0, shown)
      .map(({ turn: turnMs, wait: waitMs, ...row }) => ({
        ...row,
        'longest turn ms': turnMs,
        'slowest small ms': waitMs,
      })),
    targets: [
      atMost(`longest turn of the loop in ${rows.length} operations, ms`, turn, 100),
      atMost("another account's slowest small request, ms", wait, 250),
    ],
  };
});

/** Everything in one account, made on the clock of the examples in a database of its own; answers its address. */
async function prepare(
  opening: AsyncDisposableStack,
  { world, free, copies }: { world: ExampleWorld; free: Record<string, string>; copies: number },
  say: (line: string) => void,
) {
  const dataDir = opening.use(temporaryDataDir());
  // Of this platform the server of the database alone is used.
  opening.use(await startPlatform(dataDir.path, free));
  const embedded = findRunning(dataDir.path);
  if (!embedded) throw new Error('the database does not run');
  const target = { embedded, database: 'crowd' };
  const admin = openDatabase({ embedded, database: 'svc' }, 1);
  await admin.unsafe('create database crowd template template0');
  await admin.end();
  const owner = openDatabase(target, 1);
  await migrate(owner);
  await prepareApplicationRole(owner);
  const gateway = await startGateway({ target }, { clock: world.clock, settings: world.settings });
  const scene = opening.use(new Scene(gateway, await createAccount(gateway), world.makers));
  const other = await createAccount(gateway);
  say('everything once');
  const requests = await prepareAll(scene);
  await scene.login();
  await gateway.close();
  say(`${copies} copies of it`);
  await crowd(owner, scene.account.id, copies);
  await owner`update hosts.presence set expires_at = now() + interval '1 hour'`;
  await owner.end();
  const { socketDir, user } = embedded;
  return { scene, other, requests, address: `postgres://${user}@${encodeURIComponent(socketDir)}/crowd` };
}
