import type { FastifyReply } from 'fastify';
import type { Clock } from '../base/clock.ts';
import type { ApiError } from '../base/errors.ts';

const pingEveryMs = 15_000;
/** A reader that takes nothing for this long is gone: what it holds back is held for others too. */
const stalledMs = 60_000;

/**
 * One answer in `data:` frames (document 3, Events): the head goes out with the first frame, so that a refusal before it
 * is an ordinary one. A slow reader holds its source back.
 */
export class Frames {
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  #stopPings: (() => void) | undefined;

  constructor(reply: FastifyReply, clock: Clock) {
    this.#reply = reply;
    this.#clock = clock;
  }

  get started(): boolean {
    return this.#stopPings !== undefined;
  }

  /** Writes a frame; resolves when more may follow, at once when the client is gone. */
  async send(frame: object): Promise<void> {
    const { raw } = this.#reply;
    if (!this.started) this.#start();
    if (raw.destroyed || raw.writableEnded) return;
    if (raw.write(`data: ${JSON.stringify(frame)}\n\n`)) return;
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

  /** Tells of a failure in its last frame. */
  async fail({ code, message }: ApiError): Promise<void> {
    await this.send({ type: 'error', code, message });
    this.end();
  }

  end(): void {
    this.#stopPings?.();
    this.#reply.raw.end();
  }

  #start(): void {
    const { raw } = this.#reply;
    const { 'x-svc-cost-micro-usd': _, ...headers } = this.#reply.getHeaders() as Record<string, string>;
    this.#reply.hijack();
    this.#stopPings = this.#clock.every(pingEveryMs, () => raw.write(': ping\n\n'));
    raw.once('close', this.#stopPings);
    if (raw.destroyed) return;
    raw.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-svc-cost-estimate': 'pending',
    });
  }
}
