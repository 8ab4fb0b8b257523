import type { FastifyReply } from 'fastify';
import type { Cancel, Clock } from '../base/clock.ts';

/** A reader that takes nothing for this long is gone: what it holds back is held upstream too. */
const stalledMs = 60_000;
/** A stream that says nothing for so long is kept open by a sign of life: proxies and clients end what is silent. */
const aliveMs = 15_000;
const lookEveryMs = 1_000;

/**
 * One answer that is passed on as it comes. Its head goes out by `open`, so that a refusal before it is an ordinary one.
 * A slow reader holds its source back.
 */
export class RelayedAnswer {
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  #isOpen = false;

  constructor(reply: FastifyReply, clock: Clock) {
    this.#reply = reply;
    this.#clock = clock;
  }

  /** The head is out. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Bytes that went to the client. */
  bytes = 0;
  #wroteAt = 0;
  #isWriting = false;

  /** Sends the head, once, over the headers of every answer. */
  open(status: number, headers: Readonly<Record<string, string>>): void {
    const { raw } = this.#reply;
    this.#isOpen = true;
    const shared = this.#reply.getHeaders() as Record<string, string>;
    this.#reply.hijack();
    if (!raw.destroyed) raw.writeHead(status, { ...shared, ...headers });
  }

  /** Writes; resolves when more may follow, at once when the client is gone. */
  async write(chunk: Buffer | string): Promise<void> {
    const { raw } = this.#reply;
    if (raw.destroyed || raw.writableEnded || chunk.length === 0) return;
    this.bytes += Buffer.byteLength(chunk);
    this.#wroteAt = this.#clock.monotonic();
    if (raw.write(chunk)) return;
    this.#isWriting = true;
    await new Promise<void>((resolve) => {
      const giveUp = this.#clock.after(stalledMs, () => raw.destroy());
      const go = (): void => {
        giveUp();
        raw.off('drain', go).off('close', go);
        resolve();
      };
      raw.on('drain', go).on('close', go);
    });
    this.#isWriting = false;
  }

  /**
   * Writes `sign` whenever nothing was written for 15 s, from now until what it answers is called; opens the answer for it
   * with `head`. What is written besides must end at the end of a frame.
   */
  keepAlive(head: Readonly<Record<string, string>>, sign: string): Cancel {
    this.#wroteAt = this.#clock.monotonic();
    return this.#clock.every(lookEveryMs, () => {
      if (this.#isWriting || this.#clock.monotonic() - this.#wroteAt < aliveMs) return;
      if (!this.#isOpen) this.open(200, head);
      void this.write(sign);
    });
  }

  end(): void {
    this.#reply.raw.end();
  }

  /** Cuts the answer: its client must not take it for whole. */
  destroy(): void {
    this.#reply.raw.destroy();
  }
}
