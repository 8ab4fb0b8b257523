import { uuid } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import { ApiError, badRequest, notFound } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { findDevices } from '../devices/index.ts';
import type { ControlRow, Sessions, SessionTurn } from '../sessions/index.ts';
import { Matching } from './prompts.match.ts';
import { forgetWords, insertWords } from './prompts.match.sql.ts';
import { isTurnOf, Launches, outcomeOf } from './prompts.launches.ts';
import { findBySession, type LaunchRow } from './prompts.launches.sql.ts';
import {
  changePrompt,
  deletePrompt,
  findByText,
  findPrompt,
  findPrompts,
  insertPrompt,
  lockGoal,
  lockOfTurn,
  lockOlderOfGoal,
  lockPrompt,
  type MatchedTurn,
  promptBytesQuota,
  type PromptRow,
  promptsQuota,
} from './prompts.sql.ts';
import { firstState, isClosed, movePrompt, type PromptMoveName } from './prompts.moves.ts';
import { resolveMoved, resolvePrompt } from './prompts.resolved.ts';
import { promptStates } from './prompts.states.ts';
import { toPrompt } from './prompts.view.ts';

const topic = 'prompts';
/** Bus topic: a prompt is to be launched or told of by itself, maybe now. */
export const armedTopic = 'prompts.armed';

/** A new prompt as a person or a feature gives it. */
interface PromptTerms {
  prompt: string;
  source: string;
  goalKey?: string | undefined;
  /** RFC 3339; unset: due at once. */
  notBefore?: string | undefined;
  autoRun?: boolean;
  target?: string | undefined;
  /** The key that keeps it, which it launches for by itself. */
  keyId: string;
}

/** How a prompt is launched. */
interface LaunchOptions {
  /** Unset: the prompt's device, else the freshest one that a person works at, else the next such one that listens. */
  target?: string | undefined;
  /** Anew, though a launch waits or runs. */
  force?: boolean | undefined;
  /** With `force`: what runs is asked to end. */
  stop?: boolean | undefined;
  /** The key that asks, or that a prompt which launches itself does so for. */
  keyId: string;
}

/** Prompts, as the routes and other features use them. */
export class Prompts {
  readonly #kernel: Kernel;
  readonly #sessions: Sessions;
  readonly #launches: Launches;
  readonly #matching = new Matching();

  constructor(kernel: Kernel, sessions: Sessions) {
    this.#kernel = kernel;
    this.#sessions = sessions;
    this.#launches = new Launches(kernel, sessions);
  }

  /**
   * Keeps a prompt; one of the same text is there already or is not kept. Older open ones of its goal are superseded. Throws
   * 400 for a device that the account has not, 429 when it may have no more.
   */
  async create(tx: Db, accountId: string, terms: PromptTerms): Promise<{ created: boolean; row: PromptRow }> {
    const described = await this.#matching.describe(terms.prompt);
    const [textHash, prefixHash] = [described.textHash, described.prefixHash].map((hash) => hash && Buffer.from(hash));
    const hashes = { textHash: textHash as Buffer, prefixHash: prefixHash ?? null };
    const before = await findByText(tx, accountId, hashes.textHash);
    if (before) return { created: false, row: before };
    const { config, clock } = this.#kernel;
    const { goalKey, notBefore, target, autoRun = false, keyId } = terms;
    if (target !== undefined) await this.#checkDevice(tx, accountId, target);
    await checkQuota(config, tx, promptsQuota, accountId);
    await checkQuota(config, tx, promptBytesQuota, accountId, Buffer.byteLength(terms.prompt));
    if (goalKey !== undefined) await lockGoal(tx, accountId, goalKey);
    const now = await readNow(tx, clock);
    const row = await insertPrompt(tx, now.iso, {
      accountId,
      prompt: terms.prompt,
      ...hashes,
      source: terms.source,
      goalKey: goalKey ?? null,
      target: target ?? null,
      autoRun,
      keyId,
      state: firstState,
      ...armed(now, notBefore ?? null, autoRun),
    });
    if (!row) {
      // Another one of the same text came meanwhile.
      const other = await findByText(tx, accountId, hashes.textHash);
      if (other) return { created: false, row: other };
      throw new ApiError('unavailable', 'the prompt was deleted while it was kept anew; try again');
    }
    if (described.total > 0) await insertWords(tx, row, described);
    await this.#tell(tx, 'created', row);
    if (goalKey !== undefined) {
      for (const older of await lockOlderOfGoal(tx, row)) await this.#move(tx, now, older, 'supersede', { by: row.id });
    }
    return { created: true, row };
  }

  /** Throws 404. */
  async get(db: Db, accountId: string, id: string): Promise<PromptRow> {
    const row = await findPrompt(db, accountId, id);
    if (!row) throw notFound('prompt');
    return row;
  }

  /** The same, locked until the transaction ends. */
  async lock(tx: Db, accountId: string, id: string): Promise<PromptRow> {
    const row = await lockPrompt(tx, accountId, id);
    if (!row) throw notFound('prompt');
    return row;
  }

  /**
   * Marks a prompt. What was launched and has not begun is taken back when it is closed; what runs goes on, unless `stop`.
   * Throws 409 `prompt_closed` for one that is closed.
   */
  async mark(
    tx: Db,
    row: PromptRow,
    status: 'open' | 'done' | 'dismissed',
    { stop = false }: { stop?: boolean | undefined } = {},
  ): Promise<PromptRow> {
    if (isClosed(row.state)) throw closed(row);
    if (status === 'open') {
      if (row.state === 'open') return row;
      throw badRequest(`status: this prompt is ${row.state}; keep a new one`, {
        status: ['cannot be set back to open'],
      });
    }
    const now = await readNow(tx, this.#kernel.clock);
    await this.#launches.withdrawAll(tx, now, row, { stop });
    return this.#move(tx, now, row, status === 'done' ? 'finish' : 'dismiss', {});
  }

  /** Deletes a prompt; its launches end as when it is closed. Throws 404. */
  async remove(tx: Db, accountId: string, id: string, { stop }: { stop: boolean }): Promise<void> {
    const row = await this.lock(tx, accountId, id);
    await this.#launches.withdrawAll(tx, await readNow(tx, this.#kernel.clock), row, { stop });
    await deletePrompt(tx, id);
    await this.#kernel.feed.record(tx, [{ accountId, topic, op: 'deleted', id }]);
    await resolvePrompt(this.#kernel, tx, row, 'removed');
  }

  /** Puts a prompt off, or with null makes it due at once; it is reminded of once more. */
  async snooze(tx: Db, row: PromptRow, notBefore: string | null, keyId: string): Promise<PromptRow> {
    if (isClosed(row.state)) throw closed(row);
    const now = await readNow(tx, this.#kernel.clock);
    const moved = await this.#tryMove(tx, now, row, 'snooze', {
      ...armed(now, notBefore, row.auto_run),
      keyId,
    });
    if (moved) return moved;
    throw badRequest(`not_before: this prompt is ${row.state}; only an open one can be put off`, {
      not_before: ['needs an open prompt'],
    });
  }

  /** Ends the launches of a prompt whose key has ended. */
  async endForKey(tx: Db, accountId: string, id: string): Promise<void> {
    const row = await this.lock(tx, accountId, id);
    await this.#launches.endForKey(tx, await readNow(tx, this.#kernel.clock), row);
    await this.#tellOf(tx, id);
  }

  /** Tells an account that no device took a launch, and lets it move on. */
  async tellWaiting(tx: Db, launch: { account_id: string; prompt_id: string; session_id: string }): Promise<void> {
    const row = await this.lock(tx, launch.account_id, launch.prompt_id);
    const now = await readNow(tx, this.#kernel.clock);
    if (await this.#launches.tellWaiting(tx, now, row, launch.session_id)) await this.#tellOf(tx, row.id);
  }

  /** Changes how a prompt will be launched. */
  async rearrange(
    tx: Db,
    row: PromptRow,
    { autoRun, target, keyId }: { autoRun?: boolean | undefined; target?: string | null | undefined; keyId: string },
  ): Promise<PromptRow> {
    if (isClosed(row.state)) throw closed(row);
    if (typeof target === 'string') await this.#checkDevice(tx, row.account_id, target);
    const now = await readNow(tx, this.#kernel.clock);
    const auto_run = autoRun ?? row.auto_run;
    const isNew = auto_run && !row.auto_run && row.state === 'open' && row.armed_at === null;
    const changed = await changePrompt(tx, now.iso, row.id, {
      auto_run,
      key_id: keyId,
      ...(target !== undefined && { target_device_id: target }),
      ...(isNew && { armed_at: now.iso }),
    });
    await this.#tell(tx, 'updated', changed);
    return changed;
  }

  /**
   * Opens a session and asks a device to send the prompt in it; without any device the launch waits for the next one. While
   * a launch waits or runs, that one is answered, unless another device is named and none took it, or with `force`. Throws
   * 409 `prompt_closed`, 400 for a foreign device, 429.
   */
  async launch(
    tx: Db,
    row: PromptRow,
    { target: given, force, stop = false, keyId }: LaunchOptions,
  ): Promise<PromptRow> {
    if (isClosed(row.state)) throw closed(row);
    if (given !== undefined) await this.#checkDevice(tx, row.account_id, given);
    const now = await readNow(tx, this.#kernel.clock);
    const current = await this.#launches.current(tx, row.id);
    if (current && !force) {
      const isElsewhere = given !== undefined && given !== current.device_id;
      if (!isElsewhere || !(await this.#launches.withdrawWaiting(tx, now, current))) return row;
    }
    if (force) await this.#launches.withdrawAll(tx, now, row, { stop });
    const sessionId = await this.#launches.begin(tx, now, row, { target: given, keyId });
    return this.#move(tx, now, row, 'launch', { sessionId });
  }

  /**
   * Notes that a turn carries this prompt; one that is known is answered as it is. Throws 409 `prompt_closed` when the prompt
   * is active no more.
   */
  async match(tx: Db, row: PromptRow, turn: MatchedTurn): Promise<PromptRow> {
    const isKnown = row.match_ref === turn.ref && row.match_turn_id === turn.turnId;
    if (isKnown && (row.state === 'sent' || row.state === 'answered')) return row;
    const now = await readNow(tx, this.#kernel.clock);
    const sent = await this.#move(tx, now, row, 'match', turn);
    return this.#answerEnded(tx, now, sent, turn);
  }

  /** A turn may have ended, and its end been told, before a prompt was matched to it. */
  async #answerEnded(tx: Db, now: Instant, sent: PromptRow, turn: MatchedTurn): Promise<PromptRow> {
    const { account_id: accountId } = sent;
    const { success, data: sessionId } = uuid.safeParse(turn.ref);
    const end = success && (await this.#sessions.endOf(tx, { accountId, sessionId, turnId: turn.turnId }));
    if (!end) return sent;
    return (await this.#tryMove(tx, now, sent, 'answer', { ...turn, outcome: outcomeOf(end.data) })) ?? sent;
  }

  /** A turn of a session began or ended; in a transaction of its own. */
  async onTurn(tx: Db, turn: SessionTurn): Promise<void> {
    const now = await readNow(tx, this.#kernel.clock);
    await (turn.type === 'turn_start' ? this.#onBegin(tx, now, turn) : this.#onEnd(tx, now, turn));
  }

  async #onBegin(tx: Db, now: Instant, turn: SessionTurn): Promise<void> {
    const { accountId, sessionId, turnId } = turn;
    const run = await findBySession(tx, accountId, sessionId);
    const isOwn = run !== undefined && isTurnOf(run, turn);
    const id = isOwn ? run.prompt_id : await this.#matching.find(tx, accountId, turn.text, launchOf(run));
    const row = id === undefined ? undefined : await lockPrompt(tx, accountId, id);
    if (!row) return;
    if (isOwn) await this.#launches.onBegin(tx, now, turn);
    const at = { ref: sessionId, turnId };
    const sent = await this.#tryMove(tx, now, row, 'match', at);
    if (sent) await this.#answerEnded(tx, now, sent, at);
    const end = isOwn && (await this.#sessions.endOf(tx, { accountId, sessionId, turnId }));
    const over = end ? await this.#launches.onEnd(tx, now, { ...turn, data: end.data }) : undefined;
    if (over && !isClosed(row.state)) await this.#launches.tell(tx, row, over);
  }

  async #onEnd(tx: Db, now: Instant, turn: SessionTurn): Promise<void> {
    const { accountId, sessionId: ref, turnId } = turn;
    const launched = (await findBySession(tx, accountId, ref))?.prompt_id ?? null;
    const rows = await lockOfTurn(tx, { accountId, ref, turnId, launched });
    const over = await this.#launches.onEnd(tx, now, turn);
    const outcome = outcomeOf(turn.data);
    for (const row of rows) {
      const answered = await this.#tryMove(tx, now, row, 'answer', { ref, turnId, outcome });
      const isOver = over?.prompt_id === row.id && row.run_session_id === ref;
      // The device did not begin it.
      if (!answered && isOver && outcome?.ok === false) await this.#tryMove(tx, now, row, 'refuse', { outcome });
      if (isOver && !isClosed(row.state)) await this.#launches.tell(tx, row, over);
    }
  }

  /** A device took the control of a launch, or it got its device. */
  async onControl(tx: Db, control: ControlRow): Promise<void> {
    const run = await this.#launches.onControl(tx, control);
    if (run) await this.#tellOf(tx, run.prompt_id);
  }

  /** The session of a launch is deleted. */
  async onGone(tx: Db, sessionId: string): Promise<void> {
    const run = await this.#launches.onGone(tx, sessionId);
    if (run) await this.#tellOf(tx, run.prompt_id);
  }

  /** A launch of a prompt changed, and with it what the prompt waits for. */
  async #tellOf(tx: Db, id: string): Promise<void> {
    const [row] = await findPrompts(tx, [id]);
    if (row) await this.#tell(tx, 'updated', row);
  }

  /** Moves a prompt, or leaves it; undefined when the table says no. */
  async #tryMove<N extends PromptMoveName>(
    tx: Db,
    now: Instant,
    row: PromptRow,
    name: N,
    given: Parameters<typeof movePrompt<N>>[4],
  ): Promise<PromptRow | undefined> {
    const moved = await movePrompt(tx, now, row, name, given);
    if (!moved) return undefined;
    // A prompt that is no longer active matches no turn.
    const [was, is] = [row, moved].map(({ state }) => promptStates.where('active').includes(state));
    if (was && !is) await forgetWords(tx, row.id);
    if (is && !was) await this.#matching.keep(tx, row);
    await this.#tell(tx, 'updated', moved);
    await resolveMoved(this.#kernel, tx, row, name);
    return moved;
  }

  /** Ends what compares texts. */
  readonly stop = (): Promise<void> => this.#matching.close();

  /** The same; throws 409 `prompt_closed`. */
  async #move<N extends PromptMoveName>(
    tx: Db,
    now: Instant,
    row: PromptRow,
    name: N,
    given: Parameters<typeof movePrompt<N>>[4],
  ): Promise<PromptRow> {
    const moved = await this.#tryMove(tx, now, row, name, given);
    if (!moved) throw closed(row);
    return moved;
  }

  /** Keeps what a model found out; a prompt whose work is done is verified. */
  async report(tx: Db, row: PromptRow, report: NonNullable<PromptRow['report']>): Promise<PromptRow> {
    const now = await readNow(tx, this.#kernel.clock);
    const verified = await this.#tryMove(tx, now, row, 'verify', { report });
    if (verified) return verified;
    const changed = await changePrompt(tx, now.iso, row.id, { report });
    await this.#tell(tx, 'updated', changed);
    return changed;
  }

  /** Tells those who follow the account's prompts, and the ticker of one that is due some time. */
  async #tell(tx: Db, op: 'created' | 'updated', row: PromptRow): Promise<void> {
    const { bus, feed } = this.#kernel;
    await feed.record(tx, [{ accountId: row.account_id, topic, op, id: row.id, record: toPrompt(row) }]);
    if (row.armed_at !== null) await bus.publish(tx, armedTopic, null);
  }

  async #checkDevice(db: Db, accountId: string, id: string): Promise<void> {
    if ((await findDevices(db, accountId, [id])).length > 0) return;
    const why = 'is no device of this account';
    throw badRequest(`target_device_id: ${why}`, { target_device_id: [why] });
  }
}

/** The launch that opened a session, as a match asks for it. */
const launchOf = (run: LaunchRow | undefined) => run && { promptId: run.prompt_id, hasTurn: run.turn_id !== null };

/** When something is to be done by itself: at its instant, or at once for what launches itself. */
function armed(now: Instant, notBefore: string | null, autoRun: boolean) {
  const isAhead = notBefore !== null && Date.parse(notBefore) > now.ms;
  return { notBefore, armedAt: isAhead ? notBefore : autoRun ? now.iso : null, reminds: isAhead };
}

const closed = ({ state }: PromptRow): ApiError =>
  new ApiError('prompt_closed', `this prompt is ${state} already; keep a new one`, { details: { status: state } });
