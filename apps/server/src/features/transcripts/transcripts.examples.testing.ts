import { docs } from '@svc/contract/docs';
import type { Makers, Preparation, Scene } from '../../testing.examples.ts';
import { until } from '../../testing.ts';
import { beginUpload } from '../uploads/uploads.testing.ts';
import { toneRecording, toneWords } from './transcripts.tones.testing.ts';

const { transcripts } = docs;
const soundMs = 9_000;
const sound = toneRecording(toneWords({ durationMs: soundMs }), soundMs);

const soundUpload = async ({ gateway, account }: Scene): Promise<string> =>
  (await beginUpload(gateway, account, sound)).id;

/** Makes what the examples of transcripts refer to: no provider of speech is there, so live captions stand for it. */
export const transcriptMakers: Partial<Makers> = {
  soundUpload,
  async transcript(scene) {
    const { body: fields } = transcripts.create.example;
    const made = await scene.call('POST', '/v1/transcripts', { ...fields, client_id: 'standup-2026-11-02' });
    const { id } = made.transcript;
    const { preview_text } = transcripts.finalize.example.body;
    const uploads = [{ track: 'mixed', upload_id: await soundUpload(scene) }];
    await scene.call('POST', `/v1/transcripts/${id}/finalize`, { duration_ms: soundMs, uploads, preview_text });
    await until(async () => {
      const { transcript } = await scene.call('GET', `/v1/transcripts/${id}`);
      return transcript.status === 'ready' && transcript.processing === null && transcript.degraded.length === 2;
    });
    return id;
  },
  recording: async (scene) =>
    (await scene.call('POST', '/v1/transcripts', transcripts.create.example.body)).transcript.id,
  bookmark: async (scene) =>
    (await scene.call('POST', `/v1/transcripts/${await scene.id('transcript')}/bookmarks`, { at_ms: 1 })).bookmark.id,
  folder: async (scene) =>
    (await scene.call('POST', '/v1/transcript-folders', transcripts.createFolder.example.body)).folder.id,
  share: async (scene) =>
    (await scene.call('POST', `/v1/transcripts/${await scene.id('transcript')}/shares`, { expiresInDays: 7 })).id,
  shareToken: async (scene) =>
    (await scene.call('POST', `/v1/transcripts/${await scene.id('transcript')}/shares`, {})).token,
};

/** What must have happened before their examples are sent. */
export const transcriptPreparations: Record<string, Preparation> = {
  'transcripts.stream': { whenOpen: (scene) => scene.id('recording') },
  'transcripts.search': { before: (scene) => scene.id('transcript') },
  'transcripts.ask': { before: (scene) => scene.id('transcript') },
  'transcripts.playAudio': {
    async before(scene) {
      const { tracks } = await scene.call('GET', `/v1/transcripts/${await scene.id('transcript')}/audio`);
      const { searchParams } = new URL(tracks[0].url);
      scene.set('expires', searchParams.get('expires') ?? '');
      scene.set('signature', searchParams.get('signature') ?? '');
    },
  },
  'transcripts.acceptPrompt': {
    async before(scene) {
      const id = await scene.id('transcript');
      const suggested = [{ index: 0, title: 'Draft', prompt: 'Write the draft', accepted_prompt_id: null }];
      await scene.gateway.kernel.sql`
        update transcripts.transcripts set insights = jsonb_set(insights, '{prompts}', ${JSON.stringify(suggested)}::text::jsonb)
        where id = ${id}`;
    },
  },
};
