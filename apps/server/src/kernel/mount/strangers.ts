import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../base/errors.ts';
import { networkOf } from '../base/networks.ts';

/** Requests with a wrong key that an address may make in a minute. */
const mostOfKeys = 100;
/** Of more addresses at once the oldest is forgotten: 2 MB. */
const mostAddresses = 20_000;
const minuteMs = 60_000;

/** Counts the wrong keys of each address. A caller with a valid key never waits; one without any key guesses nothing. */
export class Strangers {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #what: string;
  readonly #most: number;
  readonly #windowMs: number;
  readonly #failures = new Map<string, number>();
  #windowEnds: number;

  /** `what`: the plural of what they guess; `most` wrong ones are borne of an address within `windowMs`. */
  constructor(
    { clock, log }: { clock: Clock; log: Log },
    { what = 'API keys', most = mostOfKeys, windowMs = minuteMs } = {},
  ) {
    this.#clock = clock;
    this.#log = log;
    this.#what = what;
    this.#most = most;
    this.#windowMs = windowMs;
    this.#windowEnds = clock.monotonic() + windowMs;
    clock.every(windowMs, () => this.#endWindow());
  }

  /** The refusal of a request with a wrong key: `refusal`, or 429 after a hundred of them from its address. */
  refuse(address: string | undefined, refusal: ApiError): ApiError {
    const source = networkOf(address);
    const count = (this.#failures.get(source) ?? 0) + 1;
    if (count === 1 && this.#failures.size >= mostAddresses) {
      this.#failures.delete(this.#failures.keys().next().value as string);
    }
    this.#failures.set(source, count);
    return count <= this.#most ? refusal : this.#tooMany();
  }

  /** Counts a wrong one of an address; `check` refuses it after a hundred. */
  note(address: string | undefined): void {
    this.refuse(address, new ApiError('invalid_api_key', this.#what));
  }

  /** Throws 429 once an address had its hundred: where looking up what it shows costs more than a cached key does. */
  check(address: string | undefined): void {
    const source = networkOf(address);
    const count = this.#failures.get(source) ?? 0;
    if (count < this.#most) return;
    this.#failures.set(source, count + 1);
    throw this.#tooMany();
  }

  #tooMany(): ApiError {
    const seconds = Math.max(1, Math.ceil((this.#windowEnds - this.#clock.monotonic()) / 1000));
    const message = `too many wrong ${this.#what} came from this address; use a valid one, or wait`;
    return new ApiError('rate_limit_exceeded', message, { headers: { 'retry-after': String(seconds) } });
  }

  /** One line for each address that went over, and a new minute. */
  #endWindow(): void {
    for (const [address, failures] of this.#failures) {
      if (failures > this.#most) this.#log.warn({ address, failures }, `wrong ${this.#what} in a minute`);
    }
    this.#failures.clear();
    this.#windowEnds = this.#clock.monotonic() + this.#windowMs;
  }
}
