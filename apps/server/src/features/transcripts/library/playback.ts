import { timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Kernel } from '../../../kernel/kernel.ts';

/** How long a link plays. */
export const playableMs = 3_600_000;

const macOf = ({ keyring }: Pick<Kernel, 'keyring'>, id: string, track: string, expires: string): Buffer =>
  keyring.mac('transcript-audio', `${id}.${track}.${expires}`);

/** The signed address of a track's audio. */
export function playbackUrl(
  kernel: Pick<Kernel, 'keyring' | 'config'>,
  id: string,
  track: string,
  until: number,
): string {
  const expires = String(Math.floor(until / 1000));
  const signature = macOf(kernel, id, track, expires).toString('base64url');
  return `${kernel.config.baseUrl}/v1/transcripts/${id}/audio/${track}?expires=${expires}&signature=${signature}`;
}

/** Throws 403 for a link that is forged, changed or past its time. */
export function checkPlayback(
  kernel: Pick<Kernel, 'keyring' | 'clock'>,
  { id, track, expires, signature }: { id: string; track: string; expires: string; signature: string },
): void {
  const given = Buffer.from(signature, 'base64url');
  const expected = macOf(kernel, id, track, expires);
  const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);
  if (isGenuine && Number(expires) * 1000 > kernel.clock.now()) return;
  throw new ApiError('forbidden', 'this link is not valid; ask for a new one');
}
