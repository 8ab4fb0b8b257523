import type { Actor } from '../../kernel/base/actor.ts';
import { notFound } from '../../kernel/base/errors.ts';

/** Throws 404 when transcripts are off for the account: nothing says that there are any (document 1, Authentication 6). */
export function checkTranscripts({ features }: Pick<Actor, 'features'>): void {
  if (features['transcripts'] === false) throw notFound('route');
}
