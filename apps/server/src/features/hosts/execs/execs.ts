import { hash } from 'node:crypto';
import { contract } from '@svc/contract';
import { z } from 'zod';
import type { Actor } from '../../../kernel/base/actor.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import { type Instant, plus, readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { checkAccess } from '../../../kernel/mount/access.ts';
import { checkQuota } from '../../../kernel/records/quotas.ts';
import type { KeyLookup } from '../../keys/index.ts';
import { deepLink, notify } from '../../notifications/index.ts';
import { ExecChanges } from './changes.ts';
import { byPerson, type ExecGiven, type ExecMove, firstState, moveExec } from './execs.moves.ts';
import {
  addOutput,
  changeExec,
  type Ending,
  type ExecReader,
  type ExecRow,
  execBytesQuota,
  execsQuota,
  findExec,
  insertExec,
  isWatched,
  lockExec,
  lockUnderway,
  sealedFrames,
  withdraw,
} from './execs.sql.ts';
import { execStates } from './execs.states.ts';
import { freshOf, mostOutputBytes } from './output.ts';

/** Says why a command ends whose key has ended, and what to do. */
const keyEnded = 'the key that asked for this is revoked, paused or expired; give it again with a key that may do this';
const accountEnded = 'the account is suspended, or its subscription is inactive';
const deviceRemoved = 'device_removed';

/** A command that waits may be so long: each is kept until its machine has it. */
const mostFrameBytes = 2 * 2 ** 20;
const mostResultBytes = 2 ** 20;
/** The bound of the account is looked at for each so many bytes of an output. */
const checkEveryBytes = 2 ** 20;

/** A command as its caller gives it. */
interface NewCommand {
  actor: Pick<Actor, 'accountId' | 'keyId' | 'expiresAt'>;
  deviceId: string;
  fromDeviceId: string | undefined;
  op: string;
  /** What its machine is told, but for `req_id` and `deadline`. */
  frame: object;
  expiresInS: number;
}

/** The same, fit to be stored. */
type SealedCommand = Omit<NewCommand, 'frame'> & { frame: Buffer };

/** A command, as its machine names it. */
interface OfMachine {
  id: string;
  accountId: string;
  deviceId: string;
}

/** A machine's report. */
interface Reported {
  ok: boolean;
  result?: unknown;
  error?: string | undefined;
  unknown?: boolean | undefined;
}

/** Commands that machines do by themselves: every change of one goes through here. */
export class Execs {
  readonly changes: ExecChanges;
  readonly #kernel: Kernel;
  readonly #lookup: Pick<KeyLookup, 'authenticateId'>;

  constructor(kernel: Kernel, lookup: Pick<KeyLookup, 'authenticateId'>) {
    this.#kernel = kernel;
    this.#lookup = lookup;
    this.changes = new ExecChanges(kernel);
  }

  /** Throws 413 for a command that is too long to wait. */
  async seal(command: NewCommand): Promise<SealedCommand> {
    const { gateways, keyring } = this.#kernel;
    const plain = Buffer.from(JSON.stringify(command.frame));
    if (plain.length > mostFrameBytes) {
      throw new ApiError('payload_too_large', 'a command that nobody waits for has at most 2 MiB; write a file first');
    }
    await gateways.prove();
    return { ...command, frame: keyring.seal(sealedFrames, plain) };
  }

  /** Stores a command. Throws 429 past a quota. */
  async give(tx: Db, { actor, frame, ...command }: SealedCommand): Promise<ExecRow> {
    const { config, clock } = this.#kernel;
    const { accountId, keyId, expiresAt } = actor;
    const now = await readNow(tx, clock);
    const asked = plus(now, command.expiresInS * 1_000);
    await checkQuota(config, tx, execsQuota, accountId);
    await checkQuota(config, tx, execBytesQuota, accountId, frame.length);
    const row = await insertExec(tx, {
      account_id: accountId,
      device_id: command.deviceId,
      key_id: keyId,
      from_device_id: command.fromDeviceId ?? null,
      op: command.op,
      state: firstState,
      frame,
      created_at: now.iso,
      expires_at: expiresAt !== undefined && Date.parse(expiresAt) < asked.ms ? expiresAt : asked.iso,
    });
    await this.changes.record(tx, 'created', row, { next: true });
    return row;
  }

  /** A person ends it; undefined when the reader has no such command. `alongside` writes in its transaction, if that changes it. */
  cancel(reader: ExecReader, id: string, alongside: (tx: Db) => Promise<void>): Promise<ExecRow | undefined> {
    return this.#locked({ id, accountId: reader.accountId }, async (tx, row, now) => {
      if (reader.keyId !== undefined && reader.keyId !== row.key_id) return undefined;
      const asked = row.cancel_asked_at !== null;
      const moved = asked ? undefined : await this.move(tx, now, row, 'cancel', { error: byPerson });
      if (moved) await alongside(tx);
      return moved ?? row;
    });
  }

  /**
   * Its machine asks to start it: the command once it may, also at a repeat with the same token. `taken`: it was started with another one, so
   * that the machine has lost what it wrote down. `over`: it is not to start.
   */
  async start(which: OfMachine, token: string): Promise<ExecRow | 'taken' | 'over' | undefined> {
    const known = await findExec(this.#kernel.sql, { accountId: which.accountId }, which.id);
    if (known?.device_id !== which.deviceId) return undefined;
    const refusal = await this.#refusalOf(known.key_id);
    const tokenHash = Buffer.from(hash('sha256', token), 'hex');
    return this.#locked(which, async (tx, row, now) => {
      if (row.state === 'running') {
        if (row.token_hash?.equals(tokenHash)) return row;
        await this.move(tx, now, row, 'lose', { error: 'journal_lost' });
        return 'taken';
      }
      if (execStates.isFinal(row.state)) return 'over';
      if (refusal !== undefined) {
        await this.move(tx, now, row, 'cancel', { error: refusal });
        return 'over';
      }
      const started = await this.move(tx, now, row, 'start', { tokenHash });
      if (!started) await this.move(tx, now, row, 'expire', {});
      return started ?? 'over';
    });
  }

  /** Its machine says how it ended; the first word counts. False when the machine has no such command. */
  async report(which: OfMachine, said: Reported): Promise<boolean> {
    const reported = await this.#locked(which, async (tx, row, now) => {
      const { ok, error } = said;
      if (said.unknown) await this.move(tx, now, row, 'lose', { error: error ?? 'unknown' });
      else await this.move(tx, now, row, 'report', { ok, ...reportOf(said), ...shellOf(said.result) });
      return true;
    });
    return reported ?? false;
  }

  /** Adds to its output from byte `offset` on; `over` before it has started, and for more once it is over. */
  append(
    which: OfMachine,
    offset: number,
    piece: Uint8Array,
  ): Promise<{ bytes: number; full: boolean } | 'over' | undefined> {
    return this.#locked(which, async (tx, row) => {
      const here = row.output_bytes;
      const { added, cut } = freshOf(here, offset, piece);
      if (row.token_hash === null || (added.length > 0 && execStates.isFinal(row.state))) return 'over';
      const bytes = here + added.length;
      if (added.length > 0) {
        const isNext = Math.floor(here / checkEveryBytes) !== Math.floor(bytes / checkEveryBytes);
        if (here === 0 || isNext) await checkQuota(this.#kernel.config, tx, execBytesQuota, row.account_id);
        await addOutput(tx, row, added);
      }
      if (added.length > 0 || (cut && !row.truncated)) {
        await changeExec(tx, row.id, { output_bytes: bytes, truncated: row.truncated || cut });
        await this.changes.publish(tx, row);
      }
      return { bytes, full: bytes >= mostOutputBytes };
    });
  }

  /** A machine is forgotten: what waits for it never starts, and nobody can say how the rest ends. */
  async forgetDevice(tx: Db, device: { accountId: string; deviceId: string }): Promise<void> {
    const now = await readNow(tx, this.#kernel.clock);
    for (const row of await lockUnderway(tx, device)) await this.move(tx, now, row, 'lose', { error: deviceRemoved });
    // There may be thousands: the loop that ends what is due moves them.
    await withdraw(tx, now.iso, device, deviceRemoved);
  }

  /** Time, its key or its account ends it. */
  async end({ id, account_id: accountId, key_lives: keyLives, account_may: accountMay }: Ending): Promise<void> {
    await this.#locked({ id, accountId }, async (tx, row, now) => {
      if (row.cancel_asked_at !== null && row.state !== 'running') {
        return this.move(tx, now, row, 'cancel', { error: row.error ?? byPerson });
      }
      if ((await this.move(tx, now, row, 'expire', {})) || (keyLives && accountMay)) return undefined;
      return this.move(tx, now, row, 'cancel', { error: keyLives ? accountEnded : keyEnded });
    });
  }

  /** Moves a locked command and tells of it; undefined when the table has no such move from where it is. */
  async move<N extends ExecMove>(
    tx: Db,
    now: Instant,
    row: ExecRow,
    name: N,
    given: ExecGiven<N>,
  ): Promise<ExecRow | undefined> {
    const moved = await moveExec(tx, now, row, name, given);
    if (!moved) return undefined;
    const isOver = execStates.isFinal(moved.state);
    const ends = (name === 'cancel' || name === 'expire') && execStates.where('underway').includes(row.state);
    await this.changes.record(tx, 'updated', moved, { ends, next: isOver });
    if (isOver) await this.#tellEnd(tx, moved);
    return moved;
  }

  /** A notification, unless a person ended it, or who asked hears of it anyway. */
  async #tellEnd(tx: Db, row: ExecRow): Promise<void> {
    const { clock, config, deviceStreams } = this.#kernel;
    const { account_id: accountId, from_device_id: deviceId } = row;
    if (row.error === byPerson || (await isWatched(tx, clock, row.id))) return;
    if (deviceId !== null && (await deviceStreams.hasOne(tx, { accountId, deviceId }))) return;
    const isFine = row.ok === true && (row.exit_code ?? 0) === 0;
    const { state, op, exit_code: code } = row;
    await notify(this.#kernel, tx, {
      accountId,
      dedupeKey: `exec.done:${row.id}`,
      type: 'exec.done',
      says: ({ execs: words }) => ({
        title: words[state as 'done' | 'expired' | 'cancelled' | 'unknown'](op),
        body: row.error ?? (code === null ? words.fine : words.exit(String(code))),
      }),
      url: deepLink(config, 'hosts', 'exec', row.id),
      severity: isFine ? 'info' : 'warning',
      data: { req_id: row.id, device_id: row.device_id },
    });
  }

  /** Why a key may give no command any more; undefined when it may. */
  async #refusalOf(keyId: string): Promise<string | undefined> {
    const actor = await this.#lookup.authenticateId(keyId);
    if (!actor) return keyEnded;
    try {
      checkAccess('hosts', contract.hosts.exec, actor);
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return error.message;
      throw error;
    }
  }

  /** Works on a locked command; undefined when there is none. */
  #locked<T>(
    which: { id: string; accountId: string; deviceId?: string },
    work: (tx: Db, row: ExecRow, now: Instant) => Promise<T>,
  ): Promise<T | undefined> {
    const { sql, clock } = this.#kernel;
    return inTransaction(sql, async (tx) => {
      const row = await lockExec(tx, which);
      return row && work(tx, row, await readNow(tx, clock));
    });
  }
}

/** A result that is kept, and why one is not. */
function reportOf({ result, error }: Reported): { result: string | null; error: string | undefined } {
  const text = result === undefined ? null : JSON.stringify(result);
  if (text === null || Buffer.byteLength(text) <= mostResultBytes) return { result: text, error };
  return { result: null, error: error ?? 'result_too_large: a result of more than 1 MiB is not kept' };
}

const shellResult = z.object({
  exit_code: z.int32().nullable().catch(null),
  truncated: z.boolean().catch(false),
});

/** What the result of a shell command says besides. */
function shellOf(result: unknown): { exitCode: number | null; truncated: boolean } {
  const { data } = shellResult.safeParse(result);
  return { exitCode: data?.exit_code ?? null, truncated: data?.truncated ?? false };
}
