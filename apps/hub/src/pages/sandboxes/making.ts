import { api, failureOf } from '../../api/client.ts';

type NewSandbox = NonNullable<Parameters<typeof api.sandboxes.create>[0]>['body'];
type Made = Awaited<ReturnType<typeof api.sandboxes.create>>;

/** The server waits two minutes for an image, and a slow machine answers later. */
const answerMs = 180_000;
const againMs = 5_000;
/** A proxy that waits no longer; the server gives such a request up. */
const fromProxy = [502, 504, 524];

/**
 * Makes a sandbox. While its image is built it asks again, and says to `hear` how far that is, in percent, as far as the
 * server tells. Undefined once `signal` aborts: it asks no more, and the server gives up what is not made by then.
 */
export async function makeSandbox(
  body: NewSandbox,
  signal: AbortSignal,
  hear: (percent: number | undefined) => void,
): Promise<Made | undefined> {
  for (;;) {
    try {
      // One that is answered too late is given up, so another one makes no second sandbox.
      return await api.sandboxes.create({ body }, { signal, timeoutMs: answerMs, retries: 0 });
    } catch (error) {
      if (signal.aborted) return undefined;
      const failure = failureOf(error);
      const image = failure?.details?.['image'] as { percent?: number } | undefined;
      if (!image && !(failure?.code === 'unknown' && fromProxy.includes(failure.status))) throw error;
      hear(image?.percent);
    }
    await pause(signal);
    if (signal.aborted) return undefined;
  }
}

const pause = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, againMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
