import { bySystem, writeAct } from '../../kernel/audit.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/loop.ts';
import { deepLink, notify } from '../notifications/index.ts';
import type { Prompts } from './prompts.book.ts';
import { titleOf } from './prompts.runs.ts';
import { changePrompt, listDue, lockDue } from './prompts.sql.ts';

const lookEveryMs = 1_000;
const mostAtOnce = 20;
/** Prompts that one look passes over. */
const mostPassed = 1_000;
const mostBody = 300;

/** Tells accounts of prompts that are due, and launches those that launch themselves; each is the work of one gateway. */
export class Ticker {
  readonly #kernel: Kernel;
  readonly #prompts: Prompts;
  #loop: Loop | undefined;

  constructor(kernel: Kernel, prompts: Prompts) {
    this.#kernel = kernel;
    this.#prompts = prompts;
  }

  /** Looks from now on. */
  start(): void {
    this.#loop = startLoop(this.#kernel, { name: 'prompts.due', everyMs: lookEveryMs, work: () => this.tick() });
    this.#loop.wake();
  }

  /** Looks now. */
  wake(): void {
    this.#loop?.wake();
  }

  /** Lets a look that is under way end, and begins no other. */
  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  /** Takes all that is due; each in a transaction of its own, so that none waits for the lock of another account. */
  async tick(): Promise<void> {
    const { sql, clock } = this.#kernel;
    // What failed, or is at work elsewhere, keeps nothing back that comes after it.
    const passed: string[] = [];
    while (passed.length < mostPassed) {
      const due = await listDue(sql, clock, mostAtOnce, passed);
      for (const { id } of due) if (!(await this.#take(id))) passed.push(id);
      if (due.length < mostAtOnce) return;
    }
  }

  /** Answers whether there was something to do. */
  async #take(id: string): Promise<boolean> {
    try {
      return await this.#due(id);
    } catch (error) {
      // A refusal of ours: nothing of the launch is left, and the account is told instead.
      if (error instanceof ApiError) {
        this.#kernel.log.warn({ prompt: id, reason: error.code }, 'a prompt did not launch itself');
        return this.#due(id, error.message);
      }
      this.#kernel.log.error({ err: error, prompt: id }, 'a due prompt was not handled; it is tried again');
      return false;
    }
  }

  /** Launches a prompt, or with `failure` does not, and tells its account; throws what refuses the launch. */
  #due(id: string, failure?: string): Promise<boolean> {
    const { config, sql, clock } = this.#kernel;
    return inTransaction(sql, async (tx) => {
      const row = await lockDue(tx, clock, id);
      if (!row) return false;
      const told = await changePrompt(tx, row.updated_at, id, { armed_at: null, reminds: false });
      if (row.auto_run && failure === undefined) {
        const { run_session_id: session, run } = await this.#prompts.launch(tx, told, {});
        const details = { session, device: run?.device };
        await writeAct(tx, { accountId: row.account_id, by: bySystem, action: 'prompts.launch', subject: id, details });
      }
      // What launches at once has no reminder: it is told of when it does not.
      if (!row.reminds && failure === undefined) return true;
      await notify(this.#kernel, tx, {
        accountId: row.account_id,
        dedupeKey: `prompt.due:${id}:${row.not_before ?? row.armed_at}`,
        type: 'prompt.due',
        title: `Due: ${titleOf(row)}`,
        body: failure === undefined ? row.prompt.slice(0, mostBody).toWellFormed() : `It was not launched: ${failure}`,
        url: deepLink(config, 'prompts', id),
        severity: 'info',
        data: { prompt_id: id },
      });
      return true;
    });
  }
}
