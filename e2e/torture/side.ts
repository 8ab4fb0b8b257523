import { setTimeout as delay } from 'node:timers/promises';
import { type DatabaseTarget, openDatabase, type Sql } from '../../apps/server/src/kernel/db/db.ts';
import { type Statement, WireProxy } from './proxy.ts';

/** How far a side came: its statement was answered, it waits for a lock of the other side, or its work is over. */
export type Progress = 'stepped' | 'blocked' | 'over';

/** A statement is looked at for a lock that it waits for after this, and each so many milliseconds again. */
const lookMs = 2;

/** One of two transactions: a connection of its own whose statements pass one at a time, when they are told to. */
export class Side implements AsyncDisposable {
  readonly sql: Sql;
  readonly #proxy: WireProxy;
  readonly #isBlocked: () => Promise<boolean>;
  #isHeld = false;
  readonly #held: { statement: Statement; pass: () => void }[] = [];
  #arrived: PromiseWithResolvers<void> = Promise.withResolvers();
  #underway: Promise<void> | undefined;
  #over: Promise<void> = Promise.resolve();
  #isOver = true;

  private constructor(sql: Sql, proxy: WireProxy, isBlocked: () => Promise<boolean>) {
    this.sql = sql;
    this.#proxy = proxy;
    this.#isBlocked = isBlocked;
    proxy.decide = (statement) => {
      if (!this.#isHeld) return 'pass';
      const { promise, resolve } = Promise.withResolvers<'pass'>();
      this.#held.push({ statement, pass: () => resolve('pass') });
      this.#arrived.resolve();
      return promise;
    };
  }

  /** Opens one. `watcher` asks the database who waits, past the gate. */
  static async open(target: DatabaseTarget, watcher: Sql): Promise<Side> {
    if (!('embedded' in target)) throw new Error('the tests use an embedded database');
    const proxy = await WireProxy.open(target.embedded);
    const embedded = { ...target.embedded, socketDir: proxy.socketDir };
    const sql = openDatabase({ ...target, embedded }, 1, { idle_timeout: 0, max_lifetime: null });
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const pid = row?.pid ?? 0;
    return new Side(sql, proxy, async () => {
      const [found] = await watcher<{ blocked: boolean }[]>`
        select cardinality(pg_blocking_pids(${pid})) > 0 as blocked`;
      return found?.blocked === true;
    });
  }

  /** Begins work whose statements are held from now on; answers what comes of it. */
  begin<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    this.#isHeld = true;
    this.#isOver = false;
    const done = work(this.sql);
    this.#over = done.then(
      () => this.#end(),
      () => this.#end(),
    );
    return done;
  }

  #end(): void {
    this.#isOver = true;
    this.#isHeld = false;
    for (const { pass } of this.#held.splice(0)) pass();
  }

  /** Lets one statement pass, and waits until it is answered or waits for a lock. */
  async step(): Promise<Progress> {
    if (this.#underway === undefined) {
      while (this.#held.length === 0 && !this.#isOver) {
        this.#arrived = Promise.withResolvers();
        await Promise.race([this.#arrived.promise, this.#over]);
      }
      const next = this.#held.shift();
      if (next === undefined) return 'over';
      this.#underway = next.statement.answered;
      next.pass();
    }
    for (;;) {
      const answered = this.#underway.then(() => 'stepped' as const);
      const progress = await Promise.race([answered, this.#over.then(() => 'over' as const), delay(lookMs, 'look')]);
      if (progress === 'stepped' || progress === 'over') {
        this.#underway = undefined;
        return progress;
      }
      if (await this.#isBlocked()) return 'blocked';
    }
  }

  /** Steps until the work is over, or waits for a lock. */
  async finish(): Promise<Progress> {
    for (;;) {
      const progress = await this.step();
      if (progress !== 'stepped') return progress;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    await this.sql.end({ timeout: 1 });
    await this.#proxy[Symbol.asyncDispose]();
  }
}
