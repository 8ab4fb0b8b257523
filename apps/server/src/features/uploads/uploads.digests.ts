import { createHash, type Hash } from 'node:crypto';

/** Those that wait longest for their next piece are forgotten. */
const mostKnown = 1_000;

/**
 * SHA-256 of what uploads have so far, of those whose whole has a digest to be compared with: without it each last piece,
 * and each try of one, would have up to 2 GiB read again.
 */
export class Digests {
  readonly #known = new Map<string, { at: number; hash: Hash }>();

  /** Of the first `at` bytes, to go on with; undefined when other gateways or an earlier process took them. */
  at(id: string, at: number): Hash | undefined {
    if (at === 0) return createHash('sha256');
    const known = this.#known.get(id);
    return known?.at === at ? known.hash.copy() : undefined;
  }

  /** Keeps that of the first `at` bytes. */
  keep(id: string, at: number, hash: Hash): void {
    this.#known.delete(id);
    this.#known.set(id, { at, hash });
    for (const first of this.#known.keys()) {
      if (this.#known.size <= mostKnown) break;
      this.#known.delete(first);
    }
  }

  /** The upload is complete or gone. */
  forget(id: string): void {
    this.#known.delete(id);
  }
}
