import { contract } from '@svc/contract';
import type { Actor } from '../../kernel/base/actor.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { plus, readNow } from '../../kernel/db/instant.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkAccess } from '../../kernel/mount/access.ts';
import { bySystem, writeAct } from '../../kernel/records/audit.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import type { KeyLookup } from '../keys/index.ts';
import { deepLink, type NewNotice, notify, notifyMany } from '../notifications/index.ts';
import { listKeyless, listUntaken } from './prompts.launches.sql.ts';
import { keyEnded, titleOf } from './prompts.launches.ts';
import { promptCause } from './prompts.resolved.ts';
import { disarm, listDue, lockDue, type PromptRow } from './prompts.sql.ts';
import type { Prompts } from './prompts.store.ts';

const lookEveryMs = 1_000;
/** Prompts of one look, and reminders of one transaction. */
const mostAtOnce = 100;
/** Prompts that one look passes over. */
const mostPassed = 1_000;
const mostBody = 300;
/** A launch that no device took for so long is told of, and looked for this often. */
const waitingMs = 120_000;
const waitingEveryMs = 10_000;
/** A launch outlives its key by not much more. */
const keysEveryMs = 2_000;

/** Tells accounts of prompts that are due, and launches those that launch themselves; each is the work of one gateway. */
export class PromptTicker {
  readonly #kernel: Kernel;
  readonly #prompts: Prompts;
  readonly #lookup: Pick<KeyLookup, 'authenticateId'>;
  /** When keys were looked at last; of `clock.monotonic()`. */
  #keysAt = Number.NEGATIVE_INFINITY;
  #waitingAt = Number.NEGATIVE_INFINITY;
  #loop: Loop | undefined;

  constructor(kernel: Kernel, prompts: Prompts, lookup: Pick<KeyLookup, 'authenticateId'>) {
    this.#kernel = kernel;
    this.#lookup = lookup;
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

  /** Takes all that is due: reminders many at once, launches each in a transaction of its own. */
  async tick(): Promise<void> {
    const { sql, clock } = this.#kernel;
    await this.#endKeyless();
    await this.#tellWaiting();
    // A prompt that failed, or that another process handles, does not hold up those after it.
    const passed: string[] = [];
    while (passed.length < mostPassed) {
      const due = await listDue(sql, clock, mostAtOnce, passed);
      const reminders = due.flatMap(({ id, auto_run }) => (auto_run ? [] : [id]));
      const told = new Set(await this.#remind(reminders));
      for (const { id } of due) if (!told.has(id) && !(await this.#take(id))) passed.push(id);
      if (due.length < mostAtOnce) return;
    }
  }

  /** Tells of prompts in one transaction; answers of which. None when one of them cannot be told of: each is tried alone then. */
  async #remind(ids: readonly string[]): Promise<string[]> {
    const { sql, clock, log } = this.#kernel;
    if (ids.length === 0) return [];
    try {
      return await inTransaction(sql, async (tx) => {
        const rows = (await lockDue(tx, clock, ids)).filter(({ auto_run }) => !auto_run);
        await disarm(
          tx,
          rows.map(({ id }) => id),
        );
        const reminding = rows.filter(({ reminds }) => reminds);
        await notifyMany(
          this.#kernel,
          tx,
          reminding.map((row) => this.#notice(row)),
        );
        return rows.map(({ id }) => id);
      });
    } catch (err) {
      log.warn({ err, prompts: ids.length }, 'reminders were not told together; each is told alone');
      return [];
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
    const { sql, clock } = this.#kernel;
    return inTransaction(sql, async (tx) => {
      const [row] = await lockDue(tx, clock, [id]);
      if (!row) return false;
      await disarm(tx, [id]);
      const told = { ...row, armed_at: null, reminds: false };
      if (row.auto_run && failure === undefined) {
        const { keyId } = await this.#callerOf(row);
        const { run_session_id: session, run } = await this.#prompts.launch(tx, told, { keyId });
        const details = { session, device: run?.device };
        await writeAct(tx, { accountId: row.account_id, by: bySystem, action: 'prompts.launch', subject: id, details });
      }
      // A prompt that launched itself at once has no reminder: its account hears only of a failed launch.
      if (!row.reminds && failure === undefined) return true;
      await notify(this.#kernel, tx, this.#notice(row, failure));
      return true;
    });
  }

  /** The key that a prompt launches itself for. Throws 403 when it has ended, or may launch none any more. */
  async #callerOf({ key_id: keyId }: PromptRow): Promise<Actor> {
    const actor = keyId === null ? undefined : await this.#lookup.authenticateId(keyId);
    if (!actor) throw new ApiError('forbidden', keyEnded);
    checkAccess('prompts', contract.prompts.launch, actor);
    return actor;
  }

  /** Ends launches whose key has ended, wherever they are. */
  async #endKeyless(): Promise<void> {
    const { sql, clock, log } = this.#kernel;
    if (clock.monotonic() - this.#keysAt < keysEveryMs) return;
    this.#keysAt = clock.monotonic();
    for (const { account_id: accountId, prompt_id: id } of await listKeyless(sql, mostAtOnce)) {
      await inTransaction(sql, (tx) => this.#prompts.endForKey(tx, accountId, id)).catch((err: unknown) =>
        log.error({ err, prompt: id }, 'a launch whose key has ended was not taken back; it is tried again'),
      );
    }
  }

  /** Tells of launches that no device took for two minutes. */
  async #tellWaiting(): Promise<void> {
    const { sql, clock, log } = this.#kernel;
    if (clock.monotonic() - this.#waitingAt < waitingEveryMs) return;
    this.#waitingAt = clock.monotonic();
    const before = plus(await readNow(sql, clock), -waitingMs).iso;
    for (const launch of await listUntaken(sql, before, mostAtOnce)) {
      await inTransaction(sql, (tx) => this.#prompts.tellWaiting(tx, launch)).catch((err: unknown) =>
        log.error({ err, prompt: launch.prompt_id }, 'a launch that waits was not told of; it is tried again'),
      );
    }
  }

  #notice(row: PromptRow, failure?: string): NewNotice {
    return {
      accountId: row.account_id,
      dedupeKey: `prompt.due:${row.id}:${row.not_before ?? row.armed_at}`,
      cause: promptCause(row.id),
      type: 'prompt.due',
      says: ({ prompts: words }) => ({
        title: words.due(titleOf(row)),
        body: failure === undefined ? row.prompt.slice(0, mostBody).toWellFormed() : words.notLaunched(failure),
      }),
      url: deepLink(this.#kernel.config, 'prompts', row.id),
      severity: 'info',
      data: { prompt_id: row.id },
    };
  }
}
