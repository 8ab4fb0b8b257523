import type { GiveBack } from './places.ts';

/** How many connections there may be. */
export interface ConnectionLimits {
  total: number;
  ofAccount: number;
  /** Of anything else that a connection belongs to, by kind. */
  of: Readonly<Record<string, number>>;
}

interface Connection {
  accountId: string;
  /** `<kind>:<id>`. */
  keys: readonly string[];
  end: () => void;
}

/**
 * Counts open connections by whose they are. When all places are taken, an account that has fewer than another gets one of
 * that other's: so no account keeps all others out.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #byAccount = new Map<string, Set<Connection>>();
  readonly #counts = new Map<string, number>();
  #all = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Counts one more; `end` closes it for another's sake. Undefined when there is no place for it. */
  open(accountId: string, of: Readonly<Record<string, string>>, end: () => void): GiveBack | undefined {
    const keys = Object.entries(of).map(([kind, id]) => `${kind}:${id}`);
    const isFull = Object.entries(of).some(
      ([kind, id]) => (this.#counts.get(`${kind}:${id}`) ?? 0) >= (this.#limits.of[kind] ?? 0),
    );
    const own = this.#byAccount.get(accountId)?.size ?? 0;
    if (isFull || own >= this.#limits.ofAccount) return undefined;
    if (this.#all >= this.#limits.total && !this.#takeFromAnother(own + 1)) return undefined;
    const connection = { accountId, keys, end };
    this.#add(connection);
    return () => this.#remove(connection);
  }

  /** Ends the newest connection of the account that has most, when that is more than `than`. */
  #takeFromAnother(than: number): boolean {
    const most = [...this.#byAccount.values()].reduce<Set<Connection>>((a, b) => (b.size > a.size ? b : a), new Set());
    const last = [...most].at(-1);
    if (most.size <= than || !last) return false;
    this.#remove(last);
    last.end();
    return true;
  }

  #add(connection: Connection): void {
    const own = this.#byAccount.get(connection.accountId) ?? new Set();
    this.#byAccount.set(connection.accountId, own.add(connection));
    for (const key of connection.keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#all += 1;
  }

  #remove(connection: Connection): void {
    const own = this.#byAccount.get(connection.accountId);
    if (!own?.delete(connection)) return;
    if (own.size === 0) this.#byAccount.delete(connection.accountId);
    for (const key of connection.keys) {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    }
    this.#all -= 1;
  }
}
