import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { contract, mostRecordingMs, type RouteParsed } from '@svc/contract';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import { plus, readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { Share } from '../../kernel/share/share.ts';
import { type MediaFiles, MediaRefused } from '../media/index.ts';
import type { Uploads } from '../uploads/index.ts';
import type { Settling } from './pipeline/settle.ts';
import { writeTo } from './pipeline/trackFiles.ts';
import { addBookmarks } from './library/bookmarks.ts';
import { reserveMinutes } from './library/allowance.ts';
import type { Track, TrackRow, TranscriptRow } from './transcripts.rows.ts';
import { audioBytesQuota, insertTracks } from './transcripts.sql.ts';
import type { Transcripts } from './transcripts.store.ts';

type Body = RouteParsed<typeof contract.transcripts.finalize>['body'];
type NewTrack = Omit<TrackRow, 'is_joined'>;

/** Recordings that are looked at at a time: each is copied and read by ffmpeg. */
const looks = { total: 2, ofOne: 1, waitingOfOne: 8 };
const audioDays = 30;

interface FinalizeParts {
  transcripts: Transcripts;
  uploads: Uploads;
  media: MediaFiles;
  settling: Settling;
}

/** Hands a recording in. The same body again answers what became of it, another one 409. */
export function finalize(parts: FinalizeParts): Operation {
  const turns = new Share(looks);
  const { transcripts, settling } = parts;
  return operation(contract.transcripts.finalize, async (context, { params, body }) => {
    const { accountId, keyId } = context.actor;
    const hash = hashOf(body);
    const before = await transcripts.get(context.db, accountId, params.id);
    if (isDone(before, hash)) return { transcript: await transcripts.whole(context.db, before) };
    let tracks: NewTrack[];
    try {
      tracks = await turns.run(accountId, () => tracksOf(context, parts, body), context.signal);
    } catch (error) {
      // The same request came twice, and the other one took the uploads meanwhile.
      const now = await transcripts.get(context.db, accountId, params.id);
      if (isDone(now, hash)) return { transcript: await transcripts.whole(context.db, now) };
      throw error;
    }
    const durationMs = Math.max(...tracks.map(({ duration_ms: ms }) => ms));
    const row = await context.transaction(async (tx) => {
      const locked = await transcripts.lock(tx, accountId, params.id);
      if (isDone(locked, hash)) return locked;
      const { kernel } = context;
      const bytes = tracks.reduce((sum, track) => sum + track.bytes, 0);
      await checkQuota(kernel.config, tx, audioBytesQuota, accountId, bytes);
      await reserveMinutes(kernel, tx, { transcriptId: locked.id, accountId, ms: durationMs });
      for (const { upload_id: upload } of tracks) await parts.uploads.claim(tx, accountId, upload, locked.id);
      await insertTracks(tx, locked, tracks);
      await addBookmarks(tx, context.clock, locked, body.bookmarks);
      const now = await readNow(tx, context.clock);
      const moved = await transcripts.move(tx, now, locked, 'finalize', {
        hash,
        durationMs,
        previewText: body.preview_text ?? null,
        keyId,
        audioExpiresAt: plus(now, audioDays * 86_400_000).iso,
      });
      await settling.plan({ tx, row: moved ?? locked }, [{ kind: 'prepare', given: { recordedMs: body.duration_ms } }]);
      return moved ?? locked;
    });
    return { transcript: await transcripts.whole(context.db, row) };
  });
}

/** It was finalized by this very body. Throws 409 when it was by another one. */
function isDone(row: TranscriptRow, hash: Buffer): boolean {
  if (row.finalize_hash === null) return false;
  if (row.finalize_hash.equals(hash)) return true;
  throw new ApiError('already_finalized', 'this recording was finalized with another body; begin another one');
}

const hashOf = ({ duration_ms, uploads, bookmarks, preview_text }: Body): Buffer =>
  createHash('sha256')
    .update(
      JSON.stringify([
        duration_ms,
        uploads.map(({ track, upload_id: id }) => `${track} ${id}`).sort((a, b) => (a < b ? -1 : 1)),
        bookmarks.map(({ at_ms: at, note }) => [at, note ?? null]),
        preview_text ?? null,
      ]),
    )
    .digest();

/** The uploads as tracks. Throws in the order of the checks: 404, 410, 409 or 423 for an upload, 400 for no audio or too long. */
async function tracksOf(context: Context, { uploads, media }: FinalizeParts, body: Body): Promise<NewTrack[]> {
  const { accountId } = context.actor;
  const ids = new Set(body.uploads.map(({ upload_id: id }) => id));
  if (ids.size < body.uploads.length) throw refused(0, 'each track needs an upload of its own');
  const rows = [];
  for (const { upload_id: id } of body.uploads) rows.push(await uploads.whole(context.db, accountId, id));
  const tracks: NewTrack[] = [];
  for (const [index, row] of rows.entries()) {
    const { track } = body.uploads[index] as { track: Track };
    const look = await lookAt(context, { uploads, media }, row).catch((error: unknown) => {
      if (error instanceof MediaRefused) throw refused(index, error.message);
      throw error;
    });
    tracks.push({
      track,
      upload_id: row.id,
      bytes: row.length,
      content_type: look.contentType,
      duration_ms: look.durationMs,
    });
  }
  return tracks;
}

async function lookAt(
  { signal }: Context,
  { uploads, media }: Pick<FinalizeParts, 'uploads' | 'media'>,
  row: { id: string; account_id: string },
) {
  await using scratch = await media.scratch();
  const file = await writeTo(scratch, Readable.from(uploads.read(row), { objectMode: false }));
  const { files } = await media.pieces(file);
  const look = await media.probe(files, signal);
  // What ends within a second after three hours is rounded by its container.
  return { ...look, durationMs: Math.min(look.durationMs, mostRecordingMs) };
}

const refused = (index: number, message: string): ApiError =>
  badRequest(`uploads.${index}: ${message}`, { [`uploads.${index}.upload_id`]: [message] });
