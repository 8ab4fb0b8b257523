import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createAccount, masterKey, startGateway, type TestAccount } from '../../apps/server/src/testing.ts';
import { crowd, prepareAll } from '../../apps/server/src/testing.crowd.ts';
import { type ExampleRequest, Scene } from '../../apps/server/src/testing.examples.ts';
import { type ExampleWorld, openExampleWorld } from '../../apps/server/src/testing.world.ts';
import { findRunning } from '../../apps/server/src/postgres/embedded.ts';
import { migrate } from '../../apps/server/src/kernel/db/migrate.ts';
import { prepareApplicationRole } from '../../apps/server/src/kernel/db/role.ts';
import { type DatabaseTarget, openDatabase } from '../../apps/server/src/kernel/db/db.ts';
import { startPlatform, temporaryDataDir } from './platform.ts';
import { freePort } from './processes.ts';

/** Delay of an idle thread: its timer's own resolution. */
const restMs = 10;

/** A platform with one account that has thousands of everything, and another one that has nothing. */
export interface Crowded extends AsyncDisposable {
  readonly url: string;
  readonly world: ExampleWorld;
  readonly settings: Readonly<Record<string, string>>;
  readonly target: DatabaseTarget;
  readonly scene: Scene;
  readonly other: TestAccount;
  /** Of every operation that reads. */
  readonly requests: ReadonlyMap<string, ExampleRequest>;
  /** Runs `ask` so many times at once, and small requests of the other account meanwhile. */
  load(times: number, ask: () => Promise<unknown>): Promise<{ turn: number; wait: number }>;
}

/** Opens it, with so many copies of each row; what bounds an account in a minute is not what is measured. */
export async function openCrowded(copies: number, say: (line: string) => void): Promise<Crowded> {
  await using opening = new AsyncDisposableStack();
  const metricsPort = await freePort();
  const world = opening.use(await openExampleWorld());
  const free = { SVC_RATE_REQUESTS: '100000000', SVC_LOG_LEVEL: 'warn' };
  const settings = { ...world.settings, ...free, SVC_MASTER_KEY: masterKey };
  const { scene, other, requests, address, target } = await prepare(opening, { world, free, copies }, say);
  const ownDir = opening.use(temporaryDataDir());
  const own = { ...settings, SVC_METRICS_PORT: String(metricsPort), SVC_DATABASE_URL: address };
  // Nothing that is due runs: the account has thousands of it.
  const platform = opening.use(await startPlatform(ownDir.path, own, ['--only', 'gateway']));
  const url = `http://127.0.0.1:${platform.port}`;
  const delay = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1_000 - restMs;
  };
  const shared = new Int32Array(new SharedArrayBuffer(12));
  const workerData = { url, key: other.key, shared };
  const small = new Worker(join(import.meta.dirname, '../peers/small.ts'), { workerData });
  opening.defer(async () => void (await small.terminate()));
  const stack = opening.move();
  return {
    url,
    world,
    settings,
    target,
    scene,
    other,
    requests,
    async load(times, ask) {
      await delay();
      const round = Atomics.load(shared, 2);
      shared[1] = 0;
      Atomics.store(shared, 0, 1);
      Atomics.notify(shared, 0);
      await Promise.all(Array.from({ length: times }, ask));
      Atomics.store(shared, 0, 0);
      await Atomics.waitAsync(shared, 2, round).value;
      const [, wait = 0] = shared;
      return { turn: await delay(), wait };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

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
  return { scene, other, requests, target, address: `postgres://${user}@${encodeURIComponent(socketDir)}/crowd` };
}
