/** Those who follow something here, by its key: streams, waiting requests. Keys that nobody follows take no memory. */
export class Followers<F> {
  readonly #byKey = new Map<string, Set<F>>();

  /** Adds one; answers how it leaves. */
  add(key: string, follower: F): () => void {
    const own = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, own.add(follower));
    return () => {
      own.delete(follower);
      if (own.size === 0 && this.#byKey.get(key) === own) this.#byKey.delete(key);
    };
  }

  /** Those of a key at this moment. */
  of(key: string): readonly F[] {
    return [...(this.#byKey.get(key) ?? [])];
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  keys(): readonly string[] {
    return [...this.#byKey.keys()];
  }
}
