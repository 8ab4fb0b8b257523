import { hasAudio } from './library/audio.sql.ts';
import type { Manifest } from '../../kernel/feature.ts';
import { foldersQuota } from './library/folders.sql.ts';
import { sharesQuota } from './shares/shares.sql.ts';
import { recordingQuota } from './library/allowance.sql.ts';
import { stepMachine, transcriptMachine } from './transcripts.moves.ts';
import { audioBytesQuota, transcriptBytesQuota, transcriptsQuota } from './transcripts.sql.ts';

export type { TranscriptHooks } from './pipeline/tell.ts';
export { TranscriptsReader } from './transcripts.reader.ts';
export { Transcripts } from './transcripts.store.ts';

/** The feature without a running platform. */
export const transcriptsManifest: Manifest = {
  name: 'transcripts',
  hasBlobs: hasAudio,
  data: {
    tables: [
      'transcripts.steps',
      'transcripts.vectors',
      'transcripts.names',
      'transcripts.words',
      'transcripts.utterances',
      'transcripts.speakers',
      'transcripts.bookmarks',
      'transcripts.shares',
      'transcripts.tracks',
      'transcripts.live',
      'transcripts.transcripts',
      'transcripts.folders',
      'transcripts.vocabularies',
      'transcripts.charges',
    ],
    async end({ blobs }, { accountId }) {
      const names = await blobs.list(`audio/${accountId}/`);
      for (const name of names) await blobs.delete(name);
      return { deleted: { 'audio files': names.length } };
    },
  },
  machines: [transcriptMachine, stepMachine],
  quotas: [transcriptsQuota, transcriptBytesQuota, audioBytesQuota, recordingQuota, sharesQuota, foldersQuota],
};
