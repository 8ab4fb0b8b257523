import { parentPort } from 'node:worker_threads';
import { work } from './work.ts';

/** Asked for a piece of work. */
export interface Question {
  name: keyof typeof work;
  given: readonly unknown[];
}

parentPort?.on('message', ({ name, given }: Question) => {
  const does = work[name] as (...words: readonly unknown[]) => unknown;
  parentPort?.postMessage(does(...given), []);
});
