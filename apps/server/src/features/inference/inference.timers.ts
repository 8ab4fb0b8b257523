import type { Clock } from '../../kernel/base/clock.ts';
import type { Lane } from '../providers/index.ts';

const lookEveryMs = 1_000;

/** Ends an upstream request that takes too long, or whose client is gone. */
export class Timers {
  readonly #clock: Clock;
  readonly #lane: Lane;
  readonly #abort = new AbortController();
  readonly #client: AbortSignal;
  readonly #stop: () => void;
  readonly #beganAt: number;
  #heardAt: number;
  #hasContent = false;
  /** The client does not read: what comes late then is no fault of the upstream. */
  #isHeld = false;
  readonly #isStreamed: boolean;
  /** Which limit was passed. */
  passed: string | undefined;
  /** The gateway ended it: the lane has no fault. */
  isOurs = false;
  /** The upstream broke its answer off after the client heard of it. */
  isCut = false;

  constructor(clock: Clock, lane: Lane, client: AbortSignal, isStreamed: boolean) {
    this.#isStreamed = isStreamed;
    this.#clock = clock;
    this.#lane = lane;
    this.#client = client;
    this.#beganAt = this.#heardAt = clock.monotonic();
    const looking = clock.every(lookEveryMs, () => this.#look());
    const leave = (): void => this.#abort.abort();
    if (client.aborted) leave();
    client.addEventListener('abort', leave, { once: true });
    this.#stop = () => {
      looking();
      client.removeEventListener('abort', leave);
    };
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The client left before its answer was whole. */
  get isLeft(): boolean {
    return this.#client.aborted;
  }

  /** Something came. */
  heard(): void {
    this.#heardAt = this.#clock.monotonic();
  }

  /** From now on silence counts between two parts, not until the first. */
  content(): void {
    this.#hasContent = true;
    this.heard();
  }

  /** Waits for the client, without counting. */
  async held(work: Promise<void>): Promise<void> {
    this.#isHeld = true;
    await work;
    this.#isHeld = false;
    this.heard();
  }

  /** Ends the upstream request, if it still runs. */
  end(): void {
    this.#stop();
    this.#abort.abort();
  }

  /** Ends the upstream request, with a reason for its client. */
  cut(reason: string): void {
    this.isOurs = true;
    this.#pass(reason);
  }

  /** Watches no longer; what was asked may go on to its end. */
  stop(): void {
    this.#stop();
  }

  /** Any byte is life. A whole answer says nothing until it is there: its total alone ends it. */
  #look(): void {
    const { firstContentMs, idleMs, totalMs } = this.#lane;
    const now = this.#clock.monotonic();
    const most = this.#hasContent ? idleMs : firstContentMs;
    if (now - this.#beganAt > totalMs) this.#pass(`the answer took over ${totalMs / 1000} s`);
    else if (this.#isStreamed && !this.#isHeld && now - this.#heardAt > most)
      this.#pass(`nothing came for ${most / 1000} s`);
  }

  #pass(what: string): void {
    this.passed = what;
    this.#abort.abort();
  }
}
