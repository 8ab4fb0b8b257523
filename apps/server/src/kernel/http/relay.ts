import type { FastifyReply } from 'fastify';
import type { Clock } from '../clock.ts';

/** A reader that takes nothing for this long is gone: what it holds back is held upstream too. */
const stalledMs = 60_000;

/**
 * One answer that is passed on as it comes. Its head goes out by `open`, so that a refusal before it is an ordinary one.
 * A slow reader holds its source back.
 */
export class Relay {
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
    if (raw.write(chunk)) return;
    await new Promise<void>((resolve) => {
      const giveUp = this.#clock.after(stalledMs, () => raw.destroy());
      const go = (): void => {
        giveUp();
        raw.off('drain', go).off('close', go);
        resolve();
      };
      raw.on('drain', go).on('close', go);
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
