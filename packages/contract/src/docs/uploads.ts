import type { uploads } from '../uploads.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const version = { 'tus-resumable': '1.0.0' };
const example = {
  id: samples.upload,
  offset: 5,
  length: 5,
  metadata: { filename: 'standup.m4a' },
  created_at: '2026-11-02T09:00:00.000Z',
  completed_at: '2026-11-02T09:00:00.000Z',
  expires_at: '2026-11-03T09:00:00.000Z',
};

/** Descriptions and examples of uploads. */
export const uploadsDocs = {
  options: {
    description:
      'The answer is in headers: `Tus-Version`, `Tus-Extension`, `Tus-Max-Size` (setting `SVC_UPLOAD_MAX_BYTES`), ' +
      '`Tus-Checksum-Algorithm`. No key is needed.',
    example: {},
  },
  create: {
    description:
      'Any tus 1.0 client does this by itself; `Location` is the address of the upload. An upload expires an hour ' +
      'after it was begun while it has no bytes, 72 hours after its last bytes, and 24 hours after it became complete, ' +
      'unless a transcript takes it. 429 `quota_exceeded`: finalize or delete other uploads first.',
    example: {
      headers: { ...version, 'upload-length': '5', 'upload-metadata': 'filename c3RhbmR1cC5tNGE=' },
      body: 'audio',
      response: example,
    },
  },
  get: {
    description:
      'Without `Tus-Resumable` as JSON; the headers `Upload-Offset`, `Upload-Length`, `Upload-Metadata` and ' +
      '`Upload-Expires` stand on both. The offset counts bytes that are on disk, none of which is ever lost. 410 ' +
      '`upload_gone`: it expired; begin another one.',
    example: { params: { id: samples.upload }, headers: version, response: example },
  },
  append: {
    description:
      'A connection that breaks keeps what had arrived, unless `Upload-Checksum` was given. Of two requests to one upload ' +
      'the newer one goes on, the older one gets 409 `upload_conflict` and keeps nothing: ask for the offset again. 460 ' +
      '`checksum_mismatch` means that the piece is to be sent once more.',
    example: {
      params: { id: samples.upload },
      headers: { ...version, 'upload-offset': '5' },
      body: '',
    },
  },
  remove: {
    description:
      'Ends it for good, also while a piece comes. 423 `upload_locked`: a transcript has it; delete the transcript.',
    example: { params: { id: samples.otherUpload }, headers: version },
  },
  override: {
    description: 'The headers and the body are those of the method that it stands for; 400 for any other one.',
    example: {
      params: { id: samples.upload },
      headers: { ...version, 'x-http-method-override': 'PATCH', 'upload-offset': '5' },
      body: '',
    },
  },
} satisfies Docs<typeof uploads>;
