import { contract } from '@svc/contract';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Inference } from '../inference/index.ts';
import type { KeyLookup } from '../keys/index.ts';
import type { MediaFiles } from '../media/index.ts';
import type { Prompts } from '../prompts/index.ts';
import type { SpeechProviders } from '../speech/index.ts';
import { checkTranscripts, type Uploads } from '../uploads/index.ts';
import { acceptPrompt } from './acceptPrompt.ts';
import { ask } from './ask.ts';
import { audio } from './audio.ts';
import { bookmark } from './bookmark.ts';
import { create } from './create.ts';
import { createFolder } from './createFolder.ts';
import { export as exportOperation } from './export.ts';
import { finalize } from './finalize.ts';
import { get } from './get.ts';
import { getFolder } from './getFolder.ts';
import { transcriptsManifest } from './index.ts';
import { list } from './list.ts';
import { listFolders } from './listFolders.ts';
import { listShares } from './listShares.ts';
import { live } from './live.ts';
import { Settling } from './pipeline/settle.ts';
import { Tellers, type TranscriptHooks } from './pipeline/tell.ts';
import { TrackFiles } from './pipeline/trackFiles.ts';
import { playAudio } from './playAudio.ts';
import { publicTranscript } from './publicTranscript.ts';
import { reanalyze } from './reanalyze.ts';
import { remove } from './remove.ts';
import { removeBookmark } from './removeBookmark.ts';
import { removeFolder } from './removeFolder.ts';
import { retranscribe } from './retranscribe.ts';
import { revokeShare } from './revokeShare.ts';
import { search } from './search.ts';
import { setVocabulary } from './setVocabulary.ts';
import { share } from './share.ts';
import { sharePage } from './shares/page.ts';
import { sharesTakeBack } from './shares/taken-back.ts';
import { stream } from './stream.ts';
import { AcceptsPrompts } from './transcripts.accept.ts';
import { purgeAudio } from './transcripts.jobs.ts';
import { Pipeline } from './transcripts.pipeline.ts';
import { openPool, type TranscriptPool } from './work/pool.ts';
import type { Transcripts } from './transcripts.store.ts';
import { LiveFrames } from './transcripts.streams.ts';
import { update } from './update.ts';
import { updateFolder } from './updateFolder.ts';
import { updateSpeaker } from './updateSpeaker.ts';
import { updateUtterance } from './updateUtterance.ts';
import { usage } from './usage.ts';
import { vocabulary } from './vocabulary.ts';
import { words } from './words.ts';
import { transcriptsOverview } from './transcripts.summary.ts';

/** The features and parts that transcripts stand on. */
interface TranscriptParts {
  transcripts: Transcripts;
  uploads: Uploads;
  media: MediaFiles;
  speech: SpeechProviders;
  inference: Inference;
  lookup: KeyLookup;
  prompts: Prompts;
  hooks: TranscriptHooks;
}

/** What the operations share besides. */
interface OperationParts extends TranscriptParts {
  pool: TranscriptPool;
  settling: Settling;
  frames: LiveFrames;
}

/** Every operation, by its verb. */
function operationsOf(parts: OperationParts): Feature['operations'] {
  const { transcripts, uploads, media, speech, inference, prompts, pool, settling, frames } = parts;
  return {
    list: list(transcripts),
    create: create(transcripts),
    usage: usage(speech),
    stream: stream(frames),
    search: search(inference),
    ask: ask(inference),
    words: words(transcripts),
    export: exportOperation(transcripts, pool),
    get: get(transcripts),
    update: update(transcripts),
    remove: remove(transcripts, uploads),
    finalize: finalize({ transcripts, uploads, media, settling }),
    retranscribe: retranscribe(transcripts, settling),
    reanalyze: reanalyze(transcripts, settling),
    live: live(transcripts, frames),
    bookmark: bookmark(transcripts),
    removeBookmark: removeBookmark(transcripts),
    updateSpeaker: updateSpeaker(transcripts),
    updateUtterance: updateUtterance(transcripts),
    acceptPrompt: acceptPrompt(new AcceptsPrompts(transcripts, prompts)),
    audio: audio(transcripts),
    playAudio,
    share: share(transcripts),
    listShares: listShares(transcripts),
    revokeShare: revokeShare(transcripts),
    publicTranscript,
    listFolders,
    createFolder,
    getFolder,
    updateFolder,
    removeFolder,
    vocabulary,
    setVocabulary,
  };
}

/** Recorded meetings: what was said, what it comes to, and who may read it. */
export function transcriptsFeature(kernel: Kernel, parts: TranscriptParts): Feature {
  const pool = openPool(kernel);
  const tell = new Tellers(kernel, parts.hooks);
  const settling = new Settling(kernel, parts.transcripts, tell);
  const files = new TrackFiles(kernel, parts.media);
  const frames = new LiveFrames(kernel);
  const pipeline = new Pipeline({ ...parts, kernel, settling, files, pool, tell });
  return {
    ...transcriptsManifest,
    gate: checkTranscripts,
    operations: operationsOf({ ...parts, pool, settling, frames }),
    raw: [sharePage(kernel, pool)],
    overview: transcriptsOverview,
    takesBack: sharesTakeBack,
    topic: contract.transcripts.list,
    jobs: [purgeAudio],
    async start(_kernel, { works }) {
      await frames.start();
      if (works) await pipeline.start();
      return {
        async stop() {
          await pipeline.stop();
          await pool.stop();
        },
      };
    },
  };
}
