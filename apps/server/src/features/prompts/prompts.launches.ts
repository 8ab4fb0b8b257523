import { turnOutcome } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { findDevices, findFreshest, findListening } from '../devices/index.ts';
import { deepLink, notify } from '../notifications/index.ts';
import { type ControlRow, type Sessions, type SessionTurn, workPlatforms } from '../sessions/index.ts';
import { firstLaunchState, type LaunchGiven, type LaunchMove, moveLaunch } from './prompts.launches.moves.ts';
import {
  insertLaunch,
  type LaunchRow,
  listLive,
  lockLaunch,
  noteStopAsked,
  noteWaitTold,
} from './prompts.launches.sql.ts';
import { promptCause, resolvePrompt } from './prompts.resolved.ts';
import type { Outcome, PromptRow } from './prompts.sql.ts';

/** Says why a launch ends whose key has ended, and what to do. */
export const keyEnded =
  'the key that asked for this is revoked, paused or expired; launch it again with a key that may do this';

const mostTitle = 120;

/** The terms of a launch. */
interface LaunchTerms {
  /** Unset: the prompt's own, or one that the platform chooses. */
  target: string | undefined;
  /** The key that asks; what it launched ends with it. */
  keyId: string;
}

/** The launches of prompts: each a session of its own with one control. The prompt is locked by the caller. */
export class Launches {
  readonly #kernel: Kernel;
  readonly #sessions: Sessions;

  constructor(kernel: Kernel, sessions: Sessions) {
    this.#kernel = kernel;
    this.#sessions = sessions;
  }

  /** Opens a session and asks the device to send the prompt in it. Throws 400 for a foreign device, 429. */
  async begin(tx: Db, now: Instant, prompt: PromptRow, { target: given, keyId }: LaunchTerms): Promise<string> {
    const { account_id: accountId, id } = prompt;
    const named = given ?? (await namedBy(tx, prompt));
    const target = named ?? (await chosenFor(tx, accountId));
    const title = titleOf(prompt).slice(0, mostTitle).toWellFormed();
    const session = await this.#sessions.open(tx, accountId, { title, metadata: { prompt_id: id } });
    const send = { accountId, sessionId: session.id, type: 'send', text: prompt.prompt, target };
    const control = await this.#sessions.control(tx, send);
    await insertLaunch(tx, now.iso, {
      prompt_id: id,
      account_id: accountId,
      session_id: session.id,
      control_id: control.id,
      device_id: target,
      moves_on: named === undefined,
      key_id: keyId,
      state: firstLaunchState,
    });
    return session.id;
  }

  /** The newest launch of a prompt that waits or runs. */
  async current(tx: Db, promptId: string): Promise<LaunchRow | undefined> {
    return (await listLive(tx, promptId))[0];
  }

  /** Takes back a launch that no device took; false when one did. */
  async withdrawWaiting(tx: Db, now: Instant, run: LaunchRow): Promise<boolean> {
    const { account_id: accountId, session_id: sessionId, control_id: id } = run;
    const control = await this.#sessions.withdraw(tx, { accountId, sessionId, id }, { onlyWaiting: true });
    if (!control?.isFirst) return false;
    await this.#move(tx, now, { sessionId }, 'withdraw', {});
    return true;
  }

  /**
   * Keeps all launches of a prompt from beginning: what no device took is not delivered, what one took and has not begun is
   * not begun. What runs goes on, or with `stop` is asked to end.
   */
  async withdrawAll(tx: Db, now: Instant, prompt: PromptRow, { stop }: { stop: boolean }): Promise<void> {
    for (const run of await listLive(tx, prompt.id)) {
      const { account_id: accountId, session_id: sessionId, control_id: id } = run;
      const taken = await this.#sessions.withdraw(tx, { accountId, sessionId, id });
      // A turn may have begun under another id, of a client that names its turns itself.
      const isRunning = taken !== undefined && (taken.hasBegun || run.state === 'running');
      if (!isRunning) await this.#move(tx, now, { sessionId }, 'withdraw', {});
      const mayRun = isRunning || (taken !== undefined && taken.control.acked_at !== null);
      const target = run.device_id ?? taken?.control.target_device_id;
      if (!stop || !mayRun || typeof target !== 'string') continue;
      // A device that was forgotten cannot be asked.
      if ((await findDevices(tx, accountId, [target])).length === 0) continue;
      await this.#sessions.control(tx, { accountId, sessionId, type: 'stop', target });
    }
  }

  /** The key of launches of a prompt has ended: nothing of them begins, and what runs is asked to end, once. */
  async endForKey(tx: Db, now: Instant, prompt: PromptRow): Promise<void> {
    await this.withdrawAll(tx, now, prompt, { stop: true });
    await noteStopAsked(tx, now.iso, prompt.id);
    await notify(this.#kernel, tx, {
      accountId: prompt.account_id,
      dedupeKey: `prompt.key:${prompt.id}:${now.iso}`,
      cause: promptCause(prompt.id),
      type: 'prompt.failed',
      says: ({ prompts: words }) => ({ title: words.failed(titleOf(prompt)), body: words.keyEnded }),
      url: deepLink(this.#kernel.config, 'prompts', prompt.id),
      severity: 'warning',
      data: { prompt_id: prompt.id },
    });
  }

  /**
   * Tells the account that no device took a launch for two minutes. One whose device nobody named goes to a device that
   * listens, or to the next one that does. False when a device took it, or it was told before.
   */
  async tellWaiting(tx: Db, now: Instant, prompt: PromptRow, sessionId: string): Promise<boolean> {
    const run = await lockLaunch(tx, { sessionId });
    if (run?.state !== 'waiting' || !(await noteWaitTold(tx, now.iso, run.id))) return false;
    const { account_id: accountId, control_id: id, device_id: device } = run;
    const other = run.moves_on ? ((await findListening(tx, accountId, workPlatforms)) ?? null) : device;
    const moves = other !== device && (await this.#sessions.redirect(tx, { accountId, sessionId, id, target: other }));
    if (moves) await this.#move(tx, now, { sessionId }, 'adopt', { deviceId: other });
    const [of] = moves && other !== null ? await findDevices(tx, accountId, [other]) : [];
    await notify(this.#kernel, tx, {
      accountId,
      dedupeKey: `prompt.waiting:${run.id}`,
      cause: promptCause(prompt.id),
      type: 'prompt.waiting',
      says: ({ prompts: words }) => ({
        title: words.waits(titleOf(prompt)),
        body: of ? words.waitsFor(of.name) : words[run.moves_on ? 'waitsForAny' : 'waitsForNamed'],
      }),
      url: deepLink(this.#kernel.config, 'prompts', prompt.id),
      severity: 'warning',
      data: { prompt_id: prompt.id, session_id: sessionId },
    });
    return true;
  }

  /** A device took a control, or a control got its device; answers the launch that it is of. */
  async onControl(tx: Db, control: ControlRow): Promise<LaunchRow | undefined> {
    const now = await readNow(tx, this.#kernel.clock);
    const name = control.acked_at === null ? 'adopt' : 'take';
    const run = await this.#move(tx, now, { controlId: control.id }, name, { deviceId: control.target_device_id });
    if (run && name === 'take') {
      const of = { id: run.prompt_id, account_id: run.account_id };
      await resolvePrompt(this.#kernel, tx, of, 'started', ['prompt.waiting']);
    }
    return run;
  }

  /** The session of a launch is deleted, and its control with it. */
  async onGone(tx: Db, sessionId: string): Promise<LaunchRow | undefined> {
    const now = await readNow(tx, this.#kernel.clock);
    const withdrawn = await this.#move(tx, now, { sessionId }, 'withdraw', {});
    const outcome = { ok: false, error: 'its session was deleted' };
    return withdrawn ?? this.#move(tx, now, { sessionId }, 'fail', { outcome });
  }

  /** A turn of a launch began. */
  async onBegin(tx: Db, now: Instant, { sessionId, turnId, deviceId }: SessionTurn): Promise<void> {
    await this.#move(tx, now, { sessionId }, 'begin', { turnId, deviceId });
  }

  /** A turn of a session ended: the launch that it is of is over. Answers it with what it came to. */
  async onEnd(tx: Db, now: Instant, { sessionId, turnId, data }: SessionTurn): Promise<LaunchRow | undefined> {
    const run = await lockLaunch(tx, { sessionId });
    // The turn of a client that takes a `send` has an id of its own; what a machine refuses ends without a begin.
    if (run === undefined || turnId !== (run.turn_id ?? run.control_id)) return undefined;
    const outcome = outcomeOf(data);
    return moveLaunch(tx, now, run, outcome?.ok === false ? 'fail' : 'finish', { outcome });
  }

  /** Tells the account what became of a launch. */
  async tell(tx: Db, prompt: PromptRow, run: LaunchRow): Promise<void> {
    const isFailed = run.state === 'failed';
    const { error, exit_code: code } = run.outcome ?? {};
    await notify(this.#kernel, tx, {
      accountId: prompt.account_id,
      dedupeKey: `prompt.run:${run.id}`,
      ...(isFailed && { cause: promptCause(prompt.id) }),
      type: isFailed ? 'prompt.failed' : 'prompt.answered',
      says: ({ prompts: words }) => {
        if (!isFailed) return { title: words.answered(titleOf(prompt)), body: words.answeredText };
        const why = code == null ? words.agentFailed : words.agentExit(String(code));
        return { title: words.failed(titleOf(prompt)), body: error ?? why };
      },
      url: deepLink(this.#kernel.config, 'prompts', prompt.id),
      severity: isFailed ? 'warning' : 'info',
      data: { prompt_id: prompt.id, session_id: run.session_id },
    });
  }

  async #move<N extends LaunchMove>(
    tx: Db,
    now: Instant,
    by: Parameters<typeof lockLaunch>[1],
    name: N,
    given: LaunchGiven<N>,
  ): Promise<LaunchRow | undefined> {
    const run = await lockLaunch(tx, by);
    return run && moveLaunch(tx, now, run, name, given);
  }
}

/** The prompt's device, unless it was forgotten. */
async function namedBy(
  tx: Db,
  { account_id: accountId, target_device_id: own }: PromptRow,
): Promise<string | undefined> {
  return own !== null && (await findDevices(tx, accountId, [own])).length > 0 ? own : undefined;
}

/** A device that listens now, else one that did, else the one seen last; null: none. */
async function chosenFor(tx: Db, accountId: string): Promise<string | null> {
  const listening = await findListening(tx, accountId, workPlatforms);
  return listening ?? (await findFreshest(tx, accountId, workPlatforms)) ?? null;
}

/**
 * Whether a turn is that of a launch: it has the control's id, or the device that took the control begins its first one. A
 * person who writes into the session before a device took the control begins another.
 */
export function isTurnOf(run: LaunchRow, { turnId, deviceId }: Pick<SessionTurn, 'turnId' | 'deviceId'>): boolean {
  if (run.turn_id !== null) return run.turn_id === turnId;
  return turnId === run.control_id || (run.state === 'taken' && run.device_id === deviceId);
}

/** The first line of a prompt. */
export const titleOf = ({ prompt }: Pick<PromptRow, 'prompt'>): string => prompt.trim().split('\n', 1)[0] ?? '';

const mostError = 1_000;

/** The outcome of a turn, when its client reports one. */
export function outcomeOf(data: unknown): Outcome | null {
  const parsed = turnOutcome.safeParse(data);
  if (!parsed.success) return null;
  const { ok, exit_code, error } = parsed.data;
  const said = error?.replaceAll('\u0000', '').slice(0, mostError).toWellFormed();
  return { ok, ...(exit_code !== undefined && { exit_code }), ...(said !== undefined && { error: said }) };
}
