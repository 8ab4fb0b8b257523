import type { Heard } from '@svc/speech';
import type { StepRow } from '../transcripts.rows.ts';

type Embeddings = NonNullable<Heard['embeddings']>;
type Of = Pick<StepRow, 'transcript_id' | 'generation' | 'track' | 'n'>;

const mostWindows = 1_000;

/**
 * Vectors of voices that a provider gave, until their recording is put together. They are here and nowhere else: not in a row,
 * a file or a log (design: no voiceprint is ever stored). A gateway that ends forgets them; speakers are joined by time then.
 */
export class Voices {
  readonly #kept = new Map<string, Embeddings>();

  keep(of: Of, embeddings: Embeddings): void {
    if (this.#kept.size >= mostWindows) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(keyOf(of), embeddings);
  }

  of(of: Of): Embeddings | undefined {
    return this.#kept.get(keyOf(of));
  }

  /** Forgets those of a transcript. */
  forget(transcriptId: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(`${transcriptId} `)) this.#kept.delete(key);
  }
}

const keyOf = ({ transcript_id: id, generation, track, n }: Of): string => `${id} ${generation} ${track} ${n}`;
