import { uuid } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import { ApiError, badRequest, notFound } from '../../kernel/http/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkQuota } from '../../kernel/quotas.ts';
import { findDevices, findFreshest } from '../devices/index.ts';
import type { Sessions, Turn } from '../sessions/index.ts';
import { findMatch, hashesOf, keepWords } from './prompts.match.ts';
import {
  changePrompt,
  findByText,
  findPrompt,
  insertPrompt,
  lockGoal,
  lockOlderOfGoal,
  lockPrompt,
  lockSentBy,
  promptBytesQuota,
  type PromptRow,
  promptsQuota,
} from './prompts.sql.ts';
import { firstState, isClosed, movePrompt, type PromptMoveName } from './prompts.states.ts';
import { PromptStreams } from './prompts.streams.ts';

/** What a person or a feature says of a new prompt. */
export interface PromptTerms {
  prompt: string;
  source: string;
  goalKey?: string | undefined;
  /** RFC 3339; unset: due at once. */
  notBefore?: string | undefined;
  autoRun?: boolean;
  target?: string | undefined;
}

/** What a launch is for, where nothing is said: devices that a person works at. */
const launchPlatforms = ['desktop', 'android'];
const mostTitle = 120;

/** Prompts, as the routes and other features use them. */
export class Prompts {
  readonly streams: PromptStreams;
  readonly #kernel: Kernel;
  readonly #sessions: Sessions;

  constructor(kernel: Kernel, sessions: Sessions) {
    this.#kernel = kernel;
    this.#sessions = sessions;
    this.streams = new PromptStreams(kernel);
  }

  /**
   * Keeps a prompt; one of the same text is there already or is not kept. Older open ones of its goal are superseded. Throws
   * 400 for a device that the account has not, 429 when it may have no more.
   */
  async create(tx: Db, accountId: string, terms: PromptTerms): Promise<{ created: boolean; row: PromptRow }> {
    const hashes = hashesOf(terms.prompt);
    const before = await findByText(tx, accountId, hashes.textHash);
    if (before) return { created: false, row: before };
    const { config, clock } = this.#kernel;
    const { goalKey, notBefore, target, autoRun = false } = terms;
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
      state: firstState,
      ...armed(now, notBefore ?? null, autoRun),
    });
    if (!row) {
      // Another one of the same text came meanwhile.
      const other = await findByText(tx, accountId, hashes.textHash);
      if (other) return { created: false, row: other };
      throw new ApiError('unavailable', 'the prompt was deleted while it was kept anew; try again');
    }
    await keepWords(tx, row);
    await this.streams.publish(tx, { accountId, id: row.id, op: 'create', armed: row.armed_at !== null });
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

  /** Marks a prompt; throws 409 `prompt_closed` for one that is closed. */
  async mark(tx: Db, row: PromptRow, status: 'open' | 'done' | 'dismissed'): Promise<PromptRow> {
    if (isClosed(row.state)) throw closed(row);
    if (status === 'open') {
      if (row.state === 'open') return row;
      throw badRequest(`status: this prompt is ${row.state}; keep a new one`, {
        status: ['cannot be set back to open'],
      });
    }
    const now = await readNow(tx, this.#kernel.clock);
    return this.#move(tx, now, row, status === 'done' ? 'finish' : 'dismiss', {});
  }

  /** Puts a prompt off, or with null makes it due at once; it is reminded of once more. */
  async snooze(tx: Db, row: PromptRow, notBefore: string | null): Promise<PromptRow> {
    if (isClosed(row.state)) throw closed(row);
    const now = await readNow(tx, this.#kernel.clock);
    const moved = await this.#tryMove(tx, now, row, 'snooze', armed(now, notBefore, row.auto_run));
    if (moved) return moved;
    throw badRequest(`not_before: this prompt is ${row.state}; only an open one can be put off`, {
      not_before: ['needs an open prompt'],
    });
  }

  /** Changes how a prompt will be launched. */
  async rearrange(
    tx: Db,
    row: PromptRow,
    { autoRun, target }: { autoRun?: boolean | undefined; target?: string | null | undefined },
  ): Promise<PromptRow> {
    if (isClosed(row.state)) throw closed(row);
    if (typeof target === 'string') await this.#checkDevice(tx, row.account_id, target);
    const now = await readNow(tx, this.#kernel.clock);
    const auto_run = autoRun ?? row.auto_run;
    const isNew = auto_run && !row.auto_run && row.state === 'open' && row.armed_at === null;
    const changed = await changePrompt(tx, now.iso, row.id, {
      auto_run,
      ...(target !== undefined && { target_device_id: target }),
      ...(isNew && { armed_at: now.iso }),
    });
    await this.#publish(tx, changed);
    return changed;
  }

  /**
   * Opens a session and asks a device to send the prompt in it: the one that is given, the prompt's, or the freshest desktop
   * or Android device. Throws 409 `prompt_closed`, 409 `host_offline` when there is no such device, 429.
   */
  async launch(tx: Db, row: PromptRow, given?: string): Promise<PromptRow> {
    if (isClosed(row.state)) throw closed(row);
    const accountId = row.account_id;
    const own = row.target_device_id;
    // One that was forgotten meanwhile is none.
    const isThere = own !== null && (await findDevices(tx, accountId, [own])).length > 0;
    const target = given ?? (isThere ? own : await findFreshest(tx, accountId, launchPlatforms));
    if (target === undefined) {
      throw new ApiError('host_offline', 'this account has no desktop or Android device; name one in target_device_id');
    }
    const [title = ''] = row.prompt.trim().split('\n', 1);
    const metadata = { prompt_id: row.id };
    const session = await this.#sessions.open(tx, accountId, {
      title: title.slice(0, mostTitle).toWellFormed(),
      metadata,
    });
    await this.#sessions.control(tx, { accountId, sessionId: session.id, type: 'send', text: row.prompt, target });
    const now = await readNow(tx, this.#kernel.clock);
    return this.#move(tx, now, row, 'launch', { sessionId: session.id });
  }

  /**
   * Notes that a turn carries this prompt; one that is known is answered as it is. Throws 409 `prompt_closed` when the prompt
   * is active no more.
   */
  async match(tx: Db, row: PromptRow, turn: { ref: string; turnId: string }): Promise<PromptRow> {
    const isKnown = row.match_ref === turn.ref && row.match_turn_id === turn.turnId;
    if (isKnown && (row.state === 'sent' || row.state === 'answered')) return row;
    const now = await readNow(tx, this.#kernel.clock);
    const sent = await this.#move(tx, now, row, 'match', turn);
    return this.#answerEnded(tx, now, sent, turn);
  }

  /** A turn may have ended, and its end been told, before a prompt was matched to it. */
  async #answerEnded(tx: Db, now: Instant, sent: PromptRow, turn: { ref: string; turnId: string }): Promise<PromptRow> {
    const { account_id: accountId } = sent;
    const { success, data: sessionId } = uuid.safeParse(turn.ref);
    if (!success || !(await this.#sessions.hasEnded(tx, { accountId, sessionId, turnId: turn.turnId }))) return sent;
    return (await this.#tryMove(tx, now, sent, 'answer', turn)) ?? sent;
  }

  /** A turn of a session began or ended; in a transaction of its own. */
  async onTurn(tx: Db, { accountId, sessionId, turnId, type, text }: Turn): Promise<void> {
    const now = await readNow(tx, this.#kernel.clock);
    const turn = { ref: sessionId, turnId };
    if (type === 'turn_start') {
      const id = await findMatch(tx, accountId, text);
      const row = id === undefined ? undefined : await lockPrompt(tx, accountId, id);
      const sent = row && (await this.#tryMove(tx, now, row, 'match', turn));
      if (sent) await this.#answerEnded(tx, now, sent, turn);
    } else {
      for (const row of await lockSentBy(tx, { accountId, ...turn })) await this.#tryMove(tx, now, row, 'answer', turn);
    }
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
    if (moved) await this.#publish(tx, moved);
    return moved;
  }

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
    await this.#publish(tx, changed);
    return changed;
  }

  #publish(tx: Db, { id, account_id: accountId, armed_at }: PromptRow): Promise<void> {
    return this.streams.publish(tx, { accountId, id, op: 'update', armed: armed_at !== null });
  }

  async #checkDevice(db: Db, accountId: string, id: string): Promise<void> {
    if ((await findDevices(db, accountId, [id])).length > 0) return;
    const why = 'is no device of this account';
    throw badRequest(`target_device_id: ${why}`, { target_device_id: [why] });
  }
}

/** When something is to be done by itself: at its instant, or at once for what launches itself. */
function armed(now: Instant, notBefore: string | null, autoRun: boolean) {
  const isAhead = notBefore !== null && Date.parse(notBefore) > now.ms;
  return { notBefore, armedAt: isAhead ? notBefore : autoRun ? now.iso : null, reminds: isAhead };
}

const closed = ({ state }: PromptRow): ApiError =>
  new ApiError('prompt_closed', `this prompt is ${state} already; keep a new one`, { details: { status: state } });
