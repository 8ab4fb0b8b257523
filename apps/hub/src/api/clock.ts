/** How far the clock of this device is from the server's, in milliseconds; under 5 s it is noise of the network. */
const clock = { skewMs: 0 };
const noiseMs = 5_000;

/** Learns the server's time from an answer of it. */
export function learnTime(answer: Response): void {
  const at = Date.parse(answer.headers.get('date') ?? '');
  if (Number.isNaN(at)) return;
  const skewMs = at - Date.now();
  clock.skewMs = Math.abs(skewMs) > noiseMs ? skewMs : 0;
}

/** The server's time in milliseconds since the epoch: "three minutes ago" is right on a device whose clock is wrong. */
export const now = (): number => Date.now() + clock.skewMs;
