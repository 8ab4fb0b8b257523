import { setTimeout as sleep } from 'node:timers/promises';
import type { contract, RouteInput } from '@svc/contract';
import { type Client, isSvcError, SvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';

/** An event that is to be appended. */
export type NewEvent = RouteInput<typeof contract.sessions.append>['body']['events'][number];

/** The session is gone, or takes no more. */
export class SessionOver extends Error {
  override name = 'SessionOver';
  /** The prompt was taken back; the session takes other events. */
  readonly isWithdrawn: boolean;

  constructor(cause: unknown) {
    super((cause as Error).message, { cause });
    this.isWithdrawn = isSvcError(cause, 'control_withdrawn');
  }
}

/** How a writer reaches the gateway. */
interface WriterOptions {
  client: Client;
  sessionId: string;
  /** Smallest and largest wait before a call is tried again. */
  retryMs: readonly [number, number];
  signal: AbortSignal;
}

/** While another device writes; its lease lasts 30 s at most without a word. */
const leaseWaitMs = 2_000;
const requestMs = 30_000;

/** Appends to one session as this device. Each event carries an id, so that what is sent again is stored once. */
export class SessionWriter {
  readonly #options: WriterOptions;
  #seq: number | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Appends, as long as it takes: others may write, and the gateway may be away. Throws `SessionOver`. */
  async append(events: NewEvent[]): Promise<void> {
    const { client, sessionId } = this.#options;
    const params = { id: sessionId };
    await this.#insist(async (call) => {
      this.#seq ??= (await client.sessions.get({ params }, call)).seq;
      const answer = await client.sessions.append({ params, body: { expected_seq: this.#seq, events } }, call);
      this.#seq = Math.max(this.#seq, answer.seq);
    });
  }

  /** Says that this device still writes. */
  async renew(): Promise<void> {
    const { client, sessionId, signal } = this.#options;
    const input = { params: { id: sessionId } };
    await client.sessions.takeLease(input, { signal, timeoutMs: requestMs });
  }

  /** Lets others write at once. */
  async release(): Promise<void> {
    const { client, sessionId, signal } = this.#options;
    const input = { params: { id: sessionId } };
    await client.sessions.dropLease(input, { signal, timeoutMs: requestMs });
  }

  async #insist(work: (call: { signal: AbortSignal; timeoutMs: number }) => Promise<void>): Promise<void> {
    const { retryMs, signal } = this.#options;
    const backoff = createBackoff(...retryMs);
    for (;;) {
      signal.throwIfAborted();
      try {
        return await work({ signal, timeoutMs: requestMs });
      } catch (error) {
        if (signal.aborted) throw error;
        if (isSvcError(error, 'seq_conflict')) this.#seq = Number(error.details?.['seq']);
        else if (isSvcError(error, 'lease_held')) await sleep(leaseWaitMs, undefined, { signal });
        else if (isFinal(error)) throw new SessionOver(error);
        else await sleep(backoff.next(), undefined, { signal });
      }
    }
  }
}

/** Errors that no repeat fixes: the session is gone, full, or not for this key. */
const isFinal = (error: unknown): boolean =>
  error instanceof SvcError &&
  error.status >= 400 &&
  error.status < 500 &&
  ![401, 402, 403, 408].includes(error.status) &&
  !(error.status === 429 && error.code !== 'quota_exceeded');
