import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type TestClock, testClock } from '../../../apps/server/src/kernel/base/clock.ts';
import { openDatabase, type Sql } from '../../../apps/server/src/kernel/db/db.ts';
import {
  createAccount,
  http,
  type HttpAnswer,
  startGateway,
  type TestAccount,
  type TestDatabase,
  testDatabase,
  type TestGateway,
} from '../../../apps/server/src/testing.ts';
import { type Statement, WireProxy } from '../proxy.ts';

/** A request of the household. */
interface Ask {
  readonly body?: unknown;
  readonly device?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Not with an Idempotency-Key: a repeat is harmless by itself. */
  readonly isPlain?: boolean;
}

/** Looks of `settle`, some milliseconds apart, until time passes a second. */
const looksForASecond = 60;
/** Looks for which a job that nobody seems to run is waited for. */
const looksForJobs = 400;
const mostLooks = 6_000;

/**
 * A platform of two gateways behind one wire proxy, on a clock that stands still but for `pass`. Between two instants all
 * that is due by then is done.
 */
export class House implements AsyncDisposable {
  readonly clock: TestClock;
  readonly sql: Sql;
  readonly proxy: WireProxy;
  /** Real milliseconds of each kind of work. */
  readonly spent = { settle: 0, ask: 0, hear: 0 };
  account!: TestAccount;
  steps = 0;
  /** All that was due by then is done, or nobody was there to do it. */
  settledAt = 0;
  readonly #database: TestDatabase;
  readonly #settings: Record<string, string>;
  readonly #gateways: (TestGateway | undefined)[] = [undefined, undefined];
  readonly #stack: AsyncDisposableStack;

  private constructor(parts: {
    clock: TestClock;
    sql: Sql;
    proxy: WireProxy;
    database: TestDatabase;
    stack: AsyncDisposableStack;
    settings: Record<string, string>;
  }) {
    this.clock = parts.clock;
    this.sql = parts.sql;
    this.proxy = parts.proxy;
    this.#database = parts.database;
    this.#stack = parts.stack;
    this.#settings = parts.settings;
  }

  /** Opens one at an instant, with both gateways and an account. */
  static async open(start: number): Promise<House> {
    await using opening = new AsyncDisposableStack();
    const database = opening.use(await testDatabase());
    const { target } = database;
    if (!('embedded' in target)) throw new Error('the tests use an embedded database');
    const proxy = opening.use(await WireProxy.open(target.embedded));
    const sql = opening.adopt(openDatabase(target, 2), (pool) => pool.end({ timeout: 1 }));
    const dataDir = mkdtempSync(join(tmpdir(), 'svc-torture-year-'));
    opening.defer(() => rmSync(dataDir, { recursive: true, force: true }));
    const settings = { SVC_DATA_DIR: dataDir, SVC_RUN_DAYS: '30', SVC_NOTIFICATION_DAYS: '30', SVC_LOG_LEVEL: 'fatal' };
    const house = new House({ clock: testClock(start), sql, proxy, database, stack: opening.move(), settings });
    await house.start(0);
    await house.start(1);
    house.account = await createAccount(house.#up[0] as TestGateway);
    return house;
  }

  get #up(): TestGateway[] {
    return this.#gateways.filter((one) => one !== undefined);
  }

  get now(): number {
    return this.clock.now();
  }

  /** Of a gateway that is up. */
  get url(): string {
    return this.#up[0]?.url ?? '';
  }

  /** Starts a gateway that is closed. */
  async start(at: 0 | 1): Promise<void> {
    const { target } = this.#database;
    if (this.#gateways[at] || !('embedded' in target)) return;
    const through = { ...target, embedded: { ...target.embedded, socketDir: this.proxy.socketDir } };
    const gateway = await startGateway(
      { target: through },
      { clock: this.clock, settings: { ...this.#settings, SVC_DATABASE_TIMEOUT_MS: '5000', SVC_DATABASE_POOL: '4' } },
    );
    this.#gateways[at] = gateway;
    const { kernel, app } = gateway;
    // As `svc up` does: what is kept for a time is swept by them.
    await kernel.jobs.start(app.jobs, { ...kernel, sql: kernel.background });
    await this.#keepLeases();
  }

  /** Closes a gateway as a SIGTERM does; its waits go by this clock, so time passes meanwhile where they need it. */
  async stop(at: 0 | 1): Promise<void> {
    const gateway = this.#gateways[at];
    this.#gateways[at] = undefined;
    if (!gateway) return;
    let isClosed = false;
    const closing = gateway.close().finally(() => (isClosed = true));
    for (let looks = 0; !isClosed; looks++) {
      await Promise.race([closing, delay(20)]);
      if (looks > 5 && !isClosed) this.clock.advance(100);
    }
  }

  get isUp(): boolean {
    return this.#up.length > 0;
  }

  #keepLeases(): Promise<unknown> {
    // No time passes in which they would be renewed, and the database's own clock must not count them as gone.
    return this.sql`update kernel.gateways set lease_until = now() + interval '1 day'`;
  }

  /** Goes on to an instant, and does all that is due by then. */
  async passTo(at: number): Promise<void> {
    if (at > this.now) this.clock.leap(at - this.now);
    this.settledAt = this.now;
    if (!this.isUp) return;
    this.steps += 1;
    // Minutes of rate limits are the database's own: a household lives hours of its clock in one, and leases 2 % of a
    // limit at each.
    await this.sql`delete from kernel.rate_windows`;
    await this.#hear();
    await this.settle();
  }

  async #hear(): Promise<void> {
    const begun = performance.now();
    for (let looks = 1; !this.#up.every(({ kernel }) => kernel.gateways.isProven()); looks++) {
      if (looks % looksForASecond === 0) this.clock.advance(2_000);
      await delay(2);
    }
    this.spent.hear += performance.now() - begun;
  }

  /** Waits until nothing is due any more. */
  async settle(): Promise<void> {
    const begun = performance.now();
    for (let looks = 1; ; looks++) {
      const due = await this.#due(looks > looksForJobs);
      if (due === '') break;
      if (looks > mostLooks) throw new Error(`at ${new Date(this.now).toISOString()} this is not done: ${due}`);
      if (looks % looksForASecond === 0) this.clock.advance(1_000);
      await delay(3);
    }
    this.spent.settle += performance.now() - begun;
  }

  /** The names of what is due and not done. */
  async #due(withoutJobs: boolean): Promise<string> {
    const now = new Date(this.now).toISOString();
    const rows = await this.sql<{ what: string }[]>`
      select 'schedules' as what where exists (select from schedules.schedules where next_run_at <= ${now})
      union all select 'a pause' where exists (select from schedules.pauses where until <= ${now})
      union all select 'monitors' where exists (select from heartbeats.monitors where deadline <= ${now} or paused_until <= ${now})
      union all select 'prompts' where exists (select from prompts.prompts where armed_at <= ${now})
      union all select 'turns' where exists (select from sessions.turns where due_at <= ${now})
      union all select 'leases' where exists (select from scheduler.runs where state = 'running' and kind <> 'chain'
        and lease_expires_at <= ${now})
      union all select 'late runs' where exists (select from scheduler.runs where state = 'pending' and late_at <= ${now})
      union all select 'runs that waited a day' where exists (select from scheduler.runs
        where state in ('pending', 'awaiting_approval') and created_at <= ${now}::timestamptz - interval '24 hours'
          and not_before <= ${now}::timestamptz - interval '24 hours')
      union all select 'jobs' where ${!withoutJobs} and exists (select from kernel.jobs where lease_until > ${now}
        or (due_at <= ${now} and lease_until is null))`;
    return rows.map(({ what }) => what).join(', ');
  }

  /** Asks one of the gateways that are up, again as long as one cannot be reached or the database is away. */
  async ask(
    method: string,
    path: string,
    { body, device, headers: more, isPlain = false }: Ask = {},
  ): Promise<HttpAnswer> {
    const begun = performance.now();
    let key = randomUUID();
    for (let tries = 1; ; tries++) {
      const gateway = this.#up[tries % this.#up.length] as TestGateway;
      const headers = {
        ...more,
        ...(device !== undefined && { 'x-svc-device': device }),
        ...(method === 'POST' && !isPlain && { 'idempotency-key': key }),
      };
      const answer = await http(gateway.url, path, {
        method,
        headers,
        key: this.account.key,
        ...(body !== undefined && { body }),
      }).catch(() => undefined);
      const code = answer?.body?.error?.code as string | undefined;
      const isAway = answer === undefined || answer.status >= 500 || code === 'idempotency_in_flight';
      if (code === 'answer_not_kept') key = randomUUID();
      else if (!isAway) {
        this.spent.ask += performance.now() - begun;
        return answer;
      }
      if (tries > 400) throw new Error(`${method} ${path}: ${answer?.status} ${JSON.stringify(answer?.body)}`);
      if (tries % 20 === 0) this.clock.advance(1_000);
      await delay(5);
    }
  }

  /** The same; throws for another status. */
  async must(method: string, path: string, ask: Ask = {}): Promise<HttpAnswer['body']> {
    const { status, body } = await this.ask(method, path, ask);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Pings an address of a monitor. */
  async ping(path: string): Promise<void> {
    const { status } = await this.ask('GET', path);
    if (status !== 200) throw new Error(`a ping was answered with ${status}`);
  }

  /** Breaks statements from now on, where `breaks` says so, until it is disposed of. */
  breaking(breaks: (statement: Statement) => 'pass' | 'cut' | 'lose'): Disposable {
    this.proxy.decide = breaks;
    return { [Symbol.dispose]: () => void (this.proxy.decide = () => 'pass') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy.decide = () => 'pass';
    await this.stop(0);
    await this.stop(1);
    await this.#stack.disposeAsync();
  }
}
