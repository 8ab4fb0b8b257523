import type { Kernel } from '../../../kernel/kernel.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { clearGuesses, countGuess, lockGuesses, uncountGuess } from './guesses.sql.ts';
import { isKnownNetwork } from './logins.sql.ts';

/** Whose password is tried, and from where. */
interface Guess {
  /** Null: nobody has the address. */
  accountId: string | null;
  email: string;
  network: string;
  /** What is tried cannot be guessed: failures from elsewhere must not shut its owner out. */
  perNetwork?: boolean;
  /** A password, which many share: all guesses of its network are bounded together. */
  isPassword?: boolean;
}

/** A try that was let through: it counts as a failure until it is said to be none. */
export interface Attempt {
  /** It was right: what was counted of its account and network is forgotten. */
  succeeded: () => Promise<void>;
  /** It was not made: nothing is counted. */
  takeBack: () => Promise<void>;
  /**
   * It was wrong: how long it is told to wait, as all others of its network are; undefined: it is told that it was
   * wrong.
   */
  failed: () => Promise<{ waitSeconds: number } | undefined>;
}

/** A try that its account and network let through. */
type Begun = Omit<Attempt, 'failed'> & { isKnown: boolean };

/** Failures of an account and a network that are let through without a wait. */
const freeOfPair = 5;
/** Failures of an account in all, after which networks wait from which it did not sign in lately. */
const freeOfAccount = 20;
/**
 * Passwords that are looked at for a network in a minute, whosever: a list of leaked ones, tried on an address each,
 * meets no other bound. Tries that wait for their own account count for nothing here. Over it the right password of an
 * account that signed in there lately is let in, and a wrong one answered like all others there: nobody learns who
 * signs in from there.
 */
const ofNetwork = { name: 'password_guess', perMinute: 240 };
const firstWaitSeconds = 60;
const longestWaitSeconds = 900;

/**
 * Slows guesses of passwords down. Kept in the database, so that it holds over all gateways; an address without an account is
 * counted as one with.
 */
export class Guesses {
  readonly #parts: Pick<Kernel, 'sql' | 'clock' | 'keyring' | 'limiter'>;

  constructor(parts: Pick<Kernel, 'sql' | 'clock' | 'keyring' | 'limiter'>) {
    this.#parts = parts;
  }

  /**
   * Lets a try through, or answers for how many seconds none may come. It is counted before the password is looked at: of a
   * hundred tries at once five are let through.
   */
  async begin(guess: Guess): Promise<Attempt | { waitSeconds: number }> {
    const begun = await this.#begin(guess);
    if ('waitSeconds' in begun) return begun;
    const failed = () => Promise.resolve(undefined);
    if (guess.isPassword !== true) return { ...begun, failed };
    const take = async () => {
      const { allowed, resetSeconds } = await this.#parts.limiter.take(ofNetwork, guess.network);
      return allowed ? undefined : { waitSeconds: resetSeconds };
    };
    if (begun.isKnown) return { ...begun, failed: take };
    const wait = await take();
    if (!wait) return { ...begun, failed };
    await begun.takeBack();
    return wait;
  }

  async #begin(guess: Guess): Promise<Begun | { waitSeconds: number }> {
    const { sql, clock } = this.#parts;
    const { pair, account } = this.#subjects(guess);
    return inTransaction<Begun | { waitSeconds: number }>(sql, async (tx) => {
      const isKnown = await isKnownNetwork(tx, clock, guess.accountId, guess.network);
      const rows = await lockGuesses(tx, clock, [pair, account], guess.accountId);
      const rowOf = (hash: Buffer) => rows.find((row) => row.hash.equals(hash));
      const ofPair = rowOf(pair);
      const ofAccount = rowOf(account);
      const wait = Math.max(ofPair?.wait_s ?? 0, isKnown || guess.perNetwork ? 0 : (ofAccount?.wait_s ?? 0));
      if (wait > 0) return { waitSeconds: Math.ceil(wait) };
      await countGuess(tx, clock, pair, waitAfter((ofPair?.failures ?? 0) + 1, freeOfPair));
      await countGuess(tx, clock, account, waitAfter((ofAccount?.failures ?? 0) + 1, freeOfAccount));
      return {
        isKnown,
        succeeded: () => this.#end({ cleared: [pair], uncounted: [[account, ofAccount?.wait_s ?? 0]] }),
        takeBack: () =>
          this.#end({
            cleared: [],
            uncounted: [
              [pair, 0],
              [account, ofAccount?.wait_s ?? 0],
            ],
          }),
      };
    });
  }

  /** What comes right counts for nothing: the owner's own tries do not add up. */
  #end({ cleared, uncounted }: { cleared: Buffer[]; uncounted: [Buffer, number][] }): Promise<void> {
    const { sql, clock } = this.#parts;
    return inTransaction(sql, async (tx) => {
      // In the order in which `begin` locks them.
      await lockGuesses(tx, clock, [...cleared, ...uncounted.map(([hash]) => hash)], null);
      for (const hash of cleared) await clearGuesses(tx, hash);
      for (const [hash, waitSeconds] of uncounted) await uncountGuess(tx, clock, hash, waitSeconds);
    });
  }

  #subjects({ accountId, email, network }: Guess): { pair: Buffer; account: Buffer } {
    const who = accountId ?? email.normalize('NFC').toLowerCase();
    const { keyring } = this.#parts;
    return {
      pair: keyring.mac('guess', JSON.stringify([who, network])),
      account: keyring.mac('guess', JSON.stringify([who])),
    };
  }
}

/** A minute after as many failures as are free, then twice as long each time, 15 minutes at most. */
const waitAfter = (failures: number, free: number): number =>
  failures < free ? 0 : Math.min(firstWaitSeconds * 2 ** Math.min(failures - free, 10), longestWaitSeconds);
