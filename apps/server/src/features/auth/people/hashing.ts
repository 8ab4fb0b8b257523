import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { ApiError } from '../../../kernel/base/errors.ts';

const derive = promisify<'argon2id', Argon2Parameters, Buffer>(argon2 as never);

/** 19 MiB, two passes, one lane: what OWASP asks for at least. About 80 ms on one core. */
const memoryKib = 19_456;
const passes = 2;
const parallelism = 1;
const hashBytes = 32;
const saltBytes = 16;

/**
 * 38 MiB at most, and one processor is left to everything else: with two on two cores a small request of another
 * account took half a second beside sixteen passwords.
 */
const usualRunning = availableParallelism() > 2 ? 2 : 1;
const mostWaiting = 20;

/** A hash of no password: an address without one costs the same. */
const nobodys = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$BkW0NDvVnTWjJMBUoxFHNA$HjjVvTDq2jJ0l7mQ3ePAi5GoSTaR5Vvp4mZVmBc8rWs`;

const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/;

/** Who waits for a place: goes on, or is told that there is none. */
interface Waiter {
  go: () => void;
  refuse: (error: ApiError) => void;
}

/**
 * Hashes passwords, two at a time in a process, one where there are two processors or fewer; 20 more wait, further ones
 * are refused with 503 `unavailable`. Places go in turn by who asks, a network or an account: one that asks for many
 * waits behind itself, and is refused first.
 */
export class PasswordHashing {
  readonly #mostRunning: number;
  #running = 0;
  #runs = 0;
  /** By who asks; whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiter[]>();

  constructor(mostRunning = usualRunning) {
    this.#mostRunning = mostRunning;
  }

  /** How often argon2 ran, or began to. */
  get runs(): number {
    return this.#runs;
  }

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#waiting.values().reduce((sum, each) => sum + each.length, 0);
  }

  /** The hash of a password in PHC form, with a salt of its own. `asker`: whose turn it takes. */
  async hash(password: string, asker: string): Promise<string> {
    const salt = randomBytes(saltBytes);
    const hash = await this.#run(asker, password, salt, { memory: memoryKib, passes, parallelism });
    return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`;
  }

  /** Whether it is the password of a hash; with `undefined` the same work, and never. `asker`: whose turn it takes. */
  async verify(password: string, stored: string | undefined, asker: string): Promise<boolean> {
    const [, memory, time, lanes, salt = '', expected = ''] = phc.exec(stored ?? nobodys) ?? [];
    if (memory === undefined) throw new Error('a stored hash of a password is malformed');
    const costs = { memory: Number(memory), passes: Number(time), parallelism: Number(lanes) };
    const hash = await this.#run(asker, password, Buffer.from(salt, 'base64'), costs);
    const known = Buffer.from(expected, 'base64');
    return known.length === hash.length && timingSafeEqual(known, hash) && stored !== undefined;
  }

  async #run(
    asker: string,
    password: string,
    salt: Buffer,
    costs: Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism'>,
  ): Promise<Buffer> {
    await this.#enter(asker);
    try {
      this.#runs += 1;
      // The same text may come as one sign or as a letter and its mark, by keyboard.
      const message = Buffer.from(password.normalize('NFC'));
      return await derive('argon2id', { message, nonce: salt, tagLength: hashBytes, ...costs });
    } finally {
      const next = this.#next();
      // The place goes on to who waits.
      if (next) next.go();
      else this.#running -= 1;
    }
  }

  async #enter(asker: string): Promise<void> {
    if (this.#running < this.#mostRunning) {
      this.#running += 1;
      return;
    }
    const own = this.#waiting.get(asker) ?? [];
    if (this.waiting >= mostWaiting) this.#makeRoom(own.length);
    await new Promise<void>((go, refuse) => this.#waiting.set(asker, [...own, { go, refuse }]));
  }

  /** Takes a place from who has most of them; throws 503 when that is who asks, with `own` of them. */
  #makeRoom(own: number): void {
    const error = new ApiError('unavailable', 'too many people sign in at this moment; try again shortly', {
      headers: { 'retry-after': '1' },
    });
    const longest = this.#waiting.values().reduce((one, other) => (other.length > one.length ? other : one));
    if (longest.length <= own + 1) throw error;
    longest.pop()?.refuse(error);
  }

  /** Who goes next: the asker is last in turn then. */
  #next(): Waiter | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [asker, [waiter, ...rest]] = first;
    this.#waiting.delete(asker);
    if (rest.length > 0) this.#waiting.set(asker, rest);
    return waiter;
  }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
