import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { playableMs, playbackUrl } from './library/playback.ts';
import { tracksOf } from './transcripts.sql.ts';
import type { Transcripts } from './transcripts.store.ts';

export const audio = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.audio, async ({ db, kernel, clock, actor }, { params }) => {
    const row = await transcripts.get(db, actor.accountId, params.id);
    if (row.audio_purged_at !== null)
      throw new ApiError('audio_purged', 'the audio of this recording was deleted after 30 days; its text stays');
    if (row.finalized_at === null) throw new ApiError('not_finalized', 'this recording was not finalized yet');
    const until = clock.now() + playableMs;
    const tracks = (await tracksOf(db, [row.id])).filter(({ is_joined: isJoined }) => isJoined);
    return {
      tracks: tracks.map(({ track, content_type, bytes, duration_ms }) => ({
        track,
        url: playbackUrl(kernel, row.id, track, until),
        expires_at: new Date(Math.floor(until / 1000) * 1000).toISOString(),
        content_type,
        bytes,
        duration_ms,
      })),
    };
  });
