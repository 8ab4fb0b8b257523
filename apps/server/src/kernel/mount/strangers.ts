import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../base/errors.ts';

/** Requests with a wrong key that an address may make in a minute. */
const mostFailures = 100;
/** Of more addresses at once the oldest is forgotten: 2 MB. */
const mostAddresses = 20_000;
const windowMs = 60_000;

/** Counts the wrong keys of each address. A caller with a valid key never waits; one without any key guesses nothing. */
export class Strangers {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #what: string;
  readonly #failures = new Map<string, number>();
  #windowEnds: number;

  /** `what`: the plural of what they guess. */
  constructor({ clock, log }: { clock: Clock; log: Log }, what = 'API keys') {
    this.#clock = clock;
    this.#log = log;
    this.#what = what;
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
    return count <= mostFailures ? refusal : this.#tooMany();
  }

  /** Throws 429 once an address had its hundred: where looking up what it shows costs more than a cached key does. */
  check(address: string | undefined): void {
    const source = networkOf(address);
    const count = this.#failures.get(source) ?? 0;
    if (count < mostFailures) return;
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
      if (failures > mostFailures) this.#log.warn({ address, failures }, `wrong ${this.#what} in a minute`);
    }
    this.#failures.clear();
    this.#windowEnds = this.#clock.monotonic() + windowMs;
  }
}

/**
 * An IPv4 address, or the /64 of an IPv6 address: a household has as many addresses as it likes in one. A client that is gone
 * has none any more: all of them are one.
 */
function networkOf(address = ''): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const first = [...groups, ...Array.from({ length: missing }, () => '0'), ...(tail ? tail.split(':') : [])].slice(
    0,
    4,
  );
  return `${first.join(':')}::/64`;
}
