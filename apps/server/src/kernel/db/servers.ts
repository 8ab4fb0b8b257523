import type { Place } from '../../config.servers.ts';

/**
 * Finds the server that takes writes among several: a primary and its standbys, whose roles change. What was right the
 * last time is asked first, and connections that are made at the same time ask once.
 */
export class Servers {
  readonly #places: readonly Place[];
  readonly #takesWrites: (place: Place) => Promise<boolean>;
  #first = 0;
  #finding: Promise<Place> | undefined;

  constructor(places: readonly Place[], takesWrites: (place: Place) => Promise<boolean>) {
    this.#places = places;
    this.#takesWrites = takesWrites;
  }

  /** Throws `ECONNREFUSED`, with the reason for each server, when none takes writes. */
  find(): Promise<Place> {
    this.#finding ??= this.#ask().finally(() => (this.#finding = undefined));
    return this.#finding;
  }

  async #ask(): Promise<Place> {
    const reasons: string[] = [];
    for (let n = 0; n < this.#places.length; n++) {
      const at = (this.#first + n) % this.#places.length;
      const place = this.#places[at] as Place;
      try {
        if (await this.#takesWrites(place)) {
          this.#first = at;
          return place;
        }
        reasons.push(`${place.host}:${place.port} is read-only`);
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        reasons.push(`${place.host}:${place.port} ${code ?? message}`);
      }
    }
    const message = `no server of the database takes writes: ${reasons.join(', ')}`;
    throw Object.assign(new Error(message), { code: 'ECONNREFUSED' });
  }
}
