import { systemClock } from './clock.ts';

/** How long one slice may keep the thread. */
const sliceMs = 5;

const waiting: (() => void)[] = [];
let isPlanned = false;
let began = 0;

/**
 * Waits for a slice of the event loop. Long work of all requests takes turns: one slice in a turn of the loop, so that
 * sixteen of them hold up the others no longer than one does.
 */
export function nextSlice(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  plan();
  return promise;
}

function plan(): void {
  if (isPlanned || waiting.length === 0) return;
  isPlanned = true;
  setImmediate(() => {
    isPlanned = false;
    began = systemClock.monotonic();
    waiting.shift()?.();
    plan();
  });
}

/** Does the work step by step, in slices of about 5 ms; answers what it returns. A step should take under a millisecond. */
export async function inSlices<T>(work: Iterator<unknown, T>): Promise<T> {
  for (;;) {
    await nextSlice();
    do {
      const step = work.next();
      if (step.done) return step.value;
    } while (systemClock.monotonic() - began < sliceMs);
  }
}
