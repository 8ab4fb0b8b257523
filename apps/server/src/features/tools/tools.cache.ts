import type { Clock } from '../../kernel/base/clock.ts';

interface Entry<T> {
  readonly value: T;
  readonly bytes: number;
  readonly until: number;
}

/** Answers by key, for as long as they hold; past a bound in bytes the oldest go. */
export class AnswerCache<T> {
  readonly #clock: Clock;
  readonly #mostBytes: number;
  readonly #entries = new Map<string, Entry<T>>();
  #bytes = 0;

  constructor(clock: Clock, mostBytes: number) {
    this.#clock = clock;
    this.#mostBytes = mostBytes;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.until > this.#clock.monotonic()) return entry.value;
    this.#drop(key, entry);
    return undefined;
  }

  /** Keeps an answer for `ms`; a JSON value. */
  set(key: string, value: T, ms: number): void {
    const old = this.#entries.get(key);
    if (old) this.#drop(key, old);
    // Two bytes a character, and as much again for the objects.
    const bytes = (key.length + JSON.stringify(value).length) * 4;
    if (bytes > this.#mostBytes) return;
    this.#entries.set(key, { value, bytes, until: this.#clock.monotonic() + ms });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#mostBytes) break;
      this.#drop(oldest, entry);
    }
  }

  #drop(key: string, entry: Entry<T>): void {
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}
