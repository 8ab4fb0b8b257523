import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { programPath } from '../../programs/src/index.ts';
import { type Work, work } from './work.ts';
import type { Question } from './worker.ts';

/** Bytes, or units of text, that are worked on here at once: 2 ms. What is more goes to the worker. */
const mostHere = 16 * 1024;

/** Compares texts. Long ones are compared in a thread of its own, one after the other, so that nothing else waits. */
export class Matcher {
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  describe(text: string): Promise<ReturnType<Work['describe']>> {
    return this.#do(text.length, 'describe', text);
  }

  shared(hashes: Uint8Array, others: readonly Uint8Array[]): Promise<number[]> {
    const bytes = others.reduce((sum, { byteLength }) => sum + byteLength + hashes.byteLength, 0);
    return this.#do(bytes, 'shared', hashes, others);
  }

  sharedPairs(text: string, others: readonly string[]): Promise<number[]> {
    return this.#do(text.length + others.reduce((sum, { length }) => sum + length, 0), 'sharedPairs', text, others);
  }

  /** Ends the thread; what is under way fails. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #do<N extends keyof Work>(size: number, name: N, ...given: Parameters<Work[N]>): Promise<ReturnType<Work[N]>> {
    if (size <= mostHere) return (work[name] as (...words: readonly unknown[]) => ReturnType<Work[N]>)(...given);
    const before = this.#last;
    const answer = (async () => {
      await before;
      return this.#ask({ name, given });
    })();
    this.#last = answer.catch(() => {});
    return (await answer) as ReturnType<Work[N]>;
  }

  async #ask(question: Question): Promise<unknown> {
    const worker = (this.#worker ??= new Worker(programPath(new URL('./worker.ts', import.meta.url)), {
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    }));
    worker.unref();
    try {
      const over = new AbortController();
      const ended = once(worker, 'exit', { signal: over.signal }).then(() => {
        throw new Error('the thread that compares texts ended');
      });
      ended.catch(() => {});
      const answered = once(worker, 'message', { signal: over.signal });
      worker.postMessage(question, []);
      const [answer] = (await Promise.race([answered, ended])) as [unknown];
      over.abort();
      return answer;
    } catch (error) {
      await worker.terminate();
      if (this.#worker === worker) this.#worker = undefined;
      throw error;
    }
  }
}
