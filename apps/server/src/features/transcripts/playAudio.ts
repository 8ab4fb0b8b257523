import { missingBlob } from '../../kernel/outside/blobs.ts';
import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { Answer, operation } from '../../kernel/feature.ts';
import { rangeOf } from '../../kernel/http/ranges.ts';
import { checkPlayback } from './library/playback.ts';
import { audioBlob } from './pipeline/trackFiles.ts';
import { findPlayable } from './library/audio.sql.ts';

/** Plays in place, unlike files that sandboxes hand out: the type is one of sound that the probe found. */
export const playAudio = operation(contract.transcripts.playAudio, async ({ kernel }, { params, query, headers }) => {
  checkPlayback(kernel, { ...params, ...query });
  const row = await findPlayable(kernel.sql, params.id, params.track);
  if (!row) throw notFound('audio');
  const etag = `"${row.upload_id}"`;
  const isSame = headers['if-range'] === undefined || headers['if-range'] === etag;
  const range = isSame ? rangeOf(headers.range, row.bytes) : undefined;
  if (range === null) {
    const message = `the file has ${row.bytes} bytes, and none of those that \`range\` asks for`;
    throw new ApiError('range_not_satisfiable', message, { headers: { 'content-range': `bytes */${row.bytes}` } });
  }
  const blob = await kernel.blobs.get(audioBlob(row.account_id, params.id, params.track), range);
  if (!blob) {
    // Deleted meanwhile, or never here.
    if (!(await findPlayable(kernel.sql, params.id, params.track))) throw notFound('audio');
    kernel.log.error({ transcript: params.id }, 'the audio of a track is missing');
    throw missingBlob('this audio');
  }
  return new Answer(blob.body, {
    status: range ? 206 : 200,
    headers: {
      'content-type': row.content_type,
      'content-length': String(blob.bytes),
      ...(range && { 'content-range': `bytes ${range.start}-${range.end}/${row.bytes}` }),
      'accept-ranges': 'bytes',
      etag,
      'content-disposition': 'inline',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
    },
  });
});
