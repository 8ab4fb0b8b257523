import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { quotaNames } from '../../apps/server/src/config.quotas.ts';
import { type DatabaseTarget, openDatabase, type Sql } from '../../apps/server/src/kernel/db/db.ts';
import { startGateway, type TestGateway, testDatabase } from '../../apps/server/src/testing.ts';
import { type ExampleWorld, openExampleWorld } from '../../apps/server/src/testing.world.ts';
import { WireProxy } from './proxy.ts';

/**
 * A database with two gateways on one clock that stands still. `victim` answers requests alone, through the proxy: nothing
 * that is due runs in it, so what its pool for requests sends is of the request that is under way. `helper` is a whole
 * platform on the database itself: it makes what a request needs, and does the work that follows from it.
 */
export interface World extends AsyncDisposable {
  readonly victim: TestGateway;
  readonly helper: TestGateway;
  readonly proxy: WireProxy;
  readonly around: ExampleWorld;
  /** The database, past the proxy. */
  readonly target: DatabaseTarget;
  /** Where both keep files. */
  readonly dataDir: string;
  /** Invariants that were found broken: they stay so, and are no news of the next case. */
  readonly known: Set<string>;
  /** As the owner of the tables. */
  readonly sql: Sql;
  /** From so many milliseconds on lets time pass, a second each time a second is over, until it is disposed of. */
  readonly passTime: (afterMs: number) => Disposable;
  /** Lets so many milliseconds pass at once. */
  readonly pass: (ms: number) => Promise<void>;
  /** Waits until both hear each other: where time passed they must have proved it anew. */
  readonly hear: () => Promise<void>;
  /** What the victim wrote into its log since it was asked last. */
  readonly log: () => string;
}

/** A statement of the victim fails after this, and its connection 2 s later. Beside other tests one that nothing befell may take a second. */
const deadlineMs = 3_000;
/** By then the victim has given up a connection of which it hears nothing. */
export const givenUpMs = deadlineMs + 2_000;

/** After so many looks, 4 ms apart, an echo is asked for once more. */
const looksForEcho = 100;

/** Opens one, on a database of its own. `works` false: the helper does nothing that is due either. */
export async function openWorld({ works = true }: { works?: boolean } = {}): Promise<World> {
  await using opening = new AsyncDisposableStack();
  const around = opening.use(await openExampleWorld());
  const database = opening.use(await testDatabase());
  const { target } = database;
  if (!('embedded' in target)) throw new Error('the tests use an embedded database');
  const proxy = opening.use(await WireProxy.open(target.embedded));
  const sql = opening.adopt(openDatabase(target, 2), (pool) => pool.end({ timeout: 1 }));
  const { clock } = around;
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-torture-data-'));
  opening.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  // Thousands of rows are made of a few accounts.
  const quotas = Object.fromEntries(quotaNames.map((name) => [`SVC_QUOTA_${name.toUpperCase()}`, '1000000000']));
  const settings = { ...around.settings, ...quotas, SVC_DATA_DIR: dataDir };
  const helper = opening.use(
    await startGateway(database, { clock, settings, role: { serves: true, works, relays: true } }),
  );
  const lines: string[] = [];
  const victim = opening.use(
    await startGateway(
      { target: { ...target, embedded: { ...target.embedded, socketDir: proxy.socketDir } } },
      {
        clock,
        settings: { ...settings, SVC_DATABASE_TIMEOUT_MS: String(deadlineMs), SVC_DATABASE_POOL: '4' },
        role: { serves: true, works: false, relays: true },
        log: new Writable({
          write: (bytes: Buffer, _, done) => {
            lines.push(bytes.toString());
            done();
          },
        }),
      },
    ),
  );
  // No time passes in which they would be renewed, and the database's own clock must not count them as gone.
  const keepLeases = () => sql`update kernel.gateways set lease_until = now() + interval '1 day'`;
  await keepLeases();
  const isProven = ({ kernel }: TestGateway): boolean => kernel.gateways.isProven();
  const hear = async (): Promise<void> => {
    for (let looks = 0; !isProven(victim) || !isProven(helper); looks++) {
      // The echo needs a moment, and time that passes meanwhile ends leases of others.
      if (looks % looksForEcho === looksForEcho - 1) clock.advance(2_000);
      await delay(4);
    }
  };
  const stack = opening.move();
  return {
    victim,
    helper,
    proxy,
    around,
    target,
    dataDir,
    known: new Set(),
    sql,
    passTime(afterMs) {
      let after = afterMs;
      const timer = setInterval(() => {
        after -= 1_000;
        if (after > 0) return;
        clock.advance(1_000);
        void keepLeases();
      }, 1_000);
      return { [Symbol.dispose]: () => clearInterval(timer) };
    },
    async pass(ms) {
      clock.advance(ms);
      await keepLeases();
      await hear();
    },
    hear,
    log: () => lines.splice(0).join(''),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
