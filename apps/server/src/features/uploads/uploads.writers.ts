import type { Kernel } from '../../kernel/kernel.ts';

/** Bus topic: a request became the writer of an upload. */
const takenTopic = 'uploads.taken';

interface Taken {
  id: string;
  /** Its number; lower ones are no writers any more. */
  no: number;
}

/** Requests of this gateway that bring bytes: one that a newer request replaces, here or elsewhere, stops at once. */
export class Writers {
  readonly #bus: Kernel['bus'];
  /** By upload and number. */
  readonly #writing = new Map<string, Map<number, AbortController>>();

  constructor({ bus }: Pick<Kernel, 'bus'>) {
    this.#bus = bus;
  }

  /** Hears of requests that come to other gateways. */
  async start(): Promise<void> {
    await this.#bus.subscribe(takenTopic, (message) => this.#replace(message as Taken));
  }

  /** Tells the writers before this one. The message may be lost: what they bring is not counted all the same. */
  tell(taken: Taken): void {
    this.#replace(taken);
    this.#bus.post(takenTopic, taken);
  }

  /** Runs a writer; its signal ends when a newer one is there. */
  async run<T>({ id, no }: Taken, work: (replaced: AbortSignal) => Promise<T>): Promise<T> {
    const writing = this.#writing.get(id) ?? new Map<number, AbortController>();
    const replaced = new AbortController();
    this.#writing.set(id, writing.set(no, replaced));
    try {
      return await work(replaced.signal);
    } finally {
      writing.delete(no);
      if (writing.size === 0) this.#writing.delete(id);
    }
  }

  #replace({ id, no }: Taken): void {
    for (const [other, replaced] of this.#writing.get(id) ?? []) if (other < no) replaced.abort();
  }
}
