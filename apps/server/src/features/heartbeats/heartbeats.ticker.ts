import type { Kernel } from '../../kernel/kernel.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { afterSilence, announce, type HeartbeatHooks, happenedIn, silenceEnds } from './heartbeats.alert.ts';
import { monitorChange } from './heartbeats.changes.ts';
import { expire } from './heartbeats.steps.ts';
import { dueIds, endSilence, lockDue, type MonitorRow, stateOf, untilDue } from './heartbeats.sql.ts';
import { saveSteps } from './history/keep.ts';

const lookEveryMs = 1_000;
const mostAtOnce = 500;

/** Finds monitors whose deadline is reached, or whose pause ends; every gateway has one, and a monitor is the work of one of them. */
export class DeadlineTicker {
  readonly #kernel: Kernel;
  readonly #hooks: HeartbeatHooks;
  #loop: Loop | undefined;

  constructor(kernel: Kernel, hooks: HeartbeatHooks) {
    this.#kernel = kernel;
    this.#hooks = hooks;
  }

  /** Looks from now on. */
  start(): void {
    const work = () => this.tick();
    this.#loop = startLoop(this.#kernel, { name: 'heartbeats.deadlines', everyMs: lookEveryMs, isVital: true, work });
    this.#loop.wake();
  }

  /** Lets a look that is under way end, and begins no other. */
  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  /** Takes every monitor that is due; answers in how many milliseconds the next one will be, if that is known. */
  async tick(): Promise<number | void> {
    const { sql, clock } = this.#kernel;
    for (;;) {
      const asked = clock.monotonic();
      const ms = await untilDue(sql, clock);
      if (ms === undefined) return;
      // What came due while the question was under way, in a process that was frozen, is not waited for once more.
      const left = Math.ceil(ms - (clock.monotonic() - asked));
      if (ms > 0 && left > 0) return left;
      if (ms > 0) continue;
      // Monitors that are due and were not taken are handled elsewhere, or failed.
      if ((await this.#takeSome()) === 0) return;
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
    await saveSteps(
      tx,
      steps.map(({ row, step: { state, flips } }) => ({
        id: row.id,
        state,
        flips,
        pingSeq: row.ping_seq,
        flipSeq: row.flip_seq,
        toldAt: row.now,
      })),
    );
    await this.#kernel.feed.record(
      tx,
      steps.map(({ row, step }) => monitorChange('updated', row, step.state)),
    );
    const happened = steps.flatMap(({ row, before, step }) => [
      ...happenedIn(row, before, step),
      ...afterSilence(row, before, step),
    ]);
    const heard = silenceEnds(happened, due, true);
    if (heard.length > 0) await endSilence(tx, heard);
    await announce(this.#kernel, tx, this.#hooks, happened);
    return due.length;
  }
}
