import type { Kernel } from '../../kernel/kernel.ts';
import { type Db, inTransaction } from '../../kernel/db.ts';
import { announce, type HeartbeatHooks, happenedIn } from './heartbeats.alert.ts';
import { expire } from './heartbeats.rules.ts';
import { dueIds, lockDue, type MonitorRow, saveStates, stateOf, untilDeadline } from './heartbeats.sql.ts';

const lookEveryMs = 1_000;
const mostAtOnce = 500;

/** Finds monitors whose deadline is reached; every gateway has one, and a monitor is the work of one of them. */
export class Ticker {
  readonly #kernel: Kernel;
  readonly #hooks: HeartbeatHooks;
  #stopTimer = (): void => {};
  #cancelEarly = (): void => {};
  #running: Promise<void> | undefined;
  #again = false;

  constructor(kernel: Kernel, hooks: HeartbeatHooks) {
    this.#kernel = kernel;
    this.#hooks = hooks;
  }

  start(): void {
    this.#stopTimer = this.#kernel.clock.every(lookEveryMs, () => this.wake());
    this.wake();
  }

  /** Looks now, or once more when it looks already. */
  wake(): void {
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#again = false;
    this.#running = this.tick()
      .catch((err: unknown) => this.#kernel.log.warn({ err }, 'monitors were not looked at'))
      .finally(() => {
        this.#running = undefined;
        if (this.#again) this.wake();
      });
  }

  async stop(): Promise<void> {
    this.#stopTimer();
    this.#cancelEarly();
    this.#again = false;
    await this.#running;
  }

  /** Takes every monitor that is due, and looks again when the next one will be if that is soon. */
  async tick(): Promise<void> {
    const { sql, clock } = this.#kernel;
    this.#cancelEarly();
    for (;;) {
      const ms = await untilDeadline(sql, clock);
      if (ms !== undefined && ms <= 0) {
        // What is due and was not taken is at work elsewhere, or failed.
        if ((await this.#takeSome()) > 0) continue;
      } else if (ms !== undefined && ms < lookEveryMs) {
        this.#cancelEarly = clock.after(Math.ceil(ms), () => this.wake());
      }
      return;
    }
  }

  /** In one transaction; when that fails one by one, so that a monitor whose hook throws holds up no other. */
  async #takeSome(): Promise<number> {
    const { sql, clock, log } = this.#kernel;
    try {
      return await inTransaction(sql, async (tx) => this.#expire(tx, await lockDue(tx, clock, mostAtOnce)));
    } catch (err) {
      log.warn({ err }, 'monitors that are due are taken one by one');
    }
    for (const id of await dueIds(sql, clock, mostAtOnce)) {
      try {
        await inTransaction(sql, async (tx) => this.#expire(tx, await lockDue(tx, clock, 1, id)));
      } catch (err) {
        log.error({ err, heartbeat: id }, 'a monitor that is due was not taken; it is tried again');
      }
    }
    return 0;
  }

  async #expire(tx: Db, due: readonly MonitorRow[]): Promise<number> {
    if (due.length === 0) return 0;
    const steps = due.map((row) => {
      const before = stateOf(row);
      return { row, before, step: expire(before, Date.parse(row.now)) };
    });
    await saveStates(
      tx,
      steps.map(({ row, step }) => ({ id: row.id, state: step.state, pingSeq: row.ping_seq })),
    );
    const happened = steps.flatMap(({ row, before, step }) => happenedIn(row, before, step));
    await announce(this.#kernel, tx, this.#hooks, happened);
    return due.length;
  }
}
