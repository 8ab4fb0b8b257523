const [shortestMs, longestMs] = [500, 15_000];

/** Milliseconds before the next attempt after so many failures in a row: full jitter under a cap that doubles. */
export function pauseOf(failures: number): number {
  const cap = Math.min(longestMs, shortestMs * 2 ** Math.min(failures, 30));
  return shortestMs + Math.random() * (cap - shortestMs);
}

type Listening = Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;

/**
 * The parts of a browser's globals that say when it is worth trying again. Node.js has neither, and what other
 * runtimes call `document` may say nothing.
 */
const page = globalThis as Listening & { document?: Listening & { visibilityState?: string } };

/** Calls back when the browser comes online or its page to the front, until the answered function is called. */
export function onReturn(back: (why: 'online' | 'visible') => void): () => void {
  const { document } = page;
  const online = (): void => back('online');
  const visible = (): void => {
    if (document?.visibilityState === 'visible') back('visible');
  };
  page.addEventListener?.('online', online);
  document?.addEventListener?.('visibilitychange', visible);
  return () => {
    page.removeEventListener?.('online', online);
    document?.removeEventListener?.('visibilitychange', visible);
  };
}

/** Resolves after `ms`, or where `wakes` at once when the browser is back; rejects with the reason of the signal. */
export function sleep(ms: number, signal: AbortSignal | undefined, wakes = false): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      stop?.();
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const stop = wakes ? onReturn(end) : undefined;
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}
