import type { transcripts } from '../transcripts.ts';
import type { Docs } from './docs.ts';
import { openPrompt } from './prompts.ts';
import { samples } from './samples.ts';
import { libraryDocs } from './transcripts.library.ts';
import {
  exampleQueued,
  exampleRecording,
  exampleSpeaker,
  exampleStep,
  exampleSummary,
  exampleTranscript,
  exampleUtterance,
  exampleWord,
} from './transcripts.shapes.ts';

const byId = { id: samples.transcript };
const recording = { id: samples.recording };
const at = '2026-11-02T09:00:00.000Z';

const { goal_key: _goal, not_before: _due, ...plainPrompt } = openPrompt;
const withWords = { ...exampleUtterance, words: [exampleWord] };
const acceptedPrompt = { ...plainPrompt, source: 'transcript' };

/** Descriptions and examples of the routes of transcripts. */
export const transcriptsDocs = {
  list: {
    description: 'Filters may be combined. Utterances, bookmarks and insights are in the single record only.',
    example: { query: { tag: 'team', limit: 20 }, response: { transcripts: [exampleSummary] } },
  },
  create: {
    description:
      'A device says that it records, before it uploads anything. With a `client_id` of its own it may repeat the call: the ' +
      'answer is 200 with the transcript that is there. `consent` is printed at the head of exports.',
    example: {
      body: { client_id: 'standup-2026-11-03', source: 'desktop', title: 'Standup', language: 'en', tags: ['team'] },
      response: { transcript: exampleRecording },
    },
  },
  usage: {
    description:
      'Minutes are reserved by finalize and charged once, however often a step is tried; a recording of which nothing was ' +
      'heard gives them back. The month is that of UTC.',
    example: {
      response: {
        period_start: '2026-11-01T00:00:00.000Z',
        period_end: '2026-12-01T00:00:00.000Z',
        limit_ms: 72_000_000,
        heard: false,
        used_ms: 0,
        reserved_ms: 0,
        remaining_ms: 72_000_000,
        max_recording_ms: 10_800_000,
        recordings: 0,
      },
    },
  },
  stream: {
    description:
      'Each status change comes with `id` and `status`; caption frames come with `op: live` while their device records, and ' +
      'are not repeated after a connection that broke. Send the last `cursor` as `after` and nothing else is missing.',
    example: {
      query: { after: samples.cursor },
      response: {
        event: 'transcript',
        data: { op: 'created', id: samples.recording, status: 'recording', cursor: samples.cursor },
      },
    },
  },
  search: {
    description:
      'Words are found in the forms of English and Romanian with or without diacritics, names also when they are misspelt. ' +
      '`degraded` holds `semantic` when no model for embeddings is set up; the other two ways answer then.',
    example: {
      query: { q: 'draft friday', mode: 'hybrid' },
      response: {
        results: [
          {
            transcript_id: samples.transcript,
            title: 'Standup',
            started_at: at,
            folder_id: null,
            seq: 0,
            speaker: { label: 'S1', name: null },
            start_ms: 0,
            end_ms: 9_000,
            passage: { seq: 0, to_seq: 0, start_ms: 0, end_ms: 9_000 },
            snippet: 'Ana sends the draft on Friday.',
            highlights: [
              [14, 19],
              [23, 29],
            ],
            score: 0.0163,
            matched: ['words'],
          },
        ],
        mode: 'hybrid',
        took_ms: 12,
        degraded: [],
      },
    },
  },
  ask: {
    description:
      'Every sentence of the answer points at utterances, and each `quote` stands in its utterance word for word. Without a ' +
      'model the best passages are the answer, and `degraded` holds `insights`.',
    example: {
      body: { question: 'When does Ana send the draft?' },
      response: {
        answer: 'Passages of the recordings that fit the question: Ana sends the draft on Friday. [1]',
        citations: [
          {
            n: 1,
            transcript_id: samples.transcript,
            title: 'Standup',
            seq: 0,
            speaker: 'S1',
            speaker_name: null,
            start_ms: 0,
            end_ms: 9_000,
            quote: 'Ana sends the draft on Friday.',
          },
        ],
        transcripts_searched: 1,
        model: 'extractive',
        took_ms: 15,
        degraded: ['semantic', 'insights'],
      },
    },
  },
  words: {
    description: 'For a player that follows the words: ask for the next ten minutes as the sound goes on.',
    example: {
      params: byId,
      query: { from_ms: 0, to_ms: 60_000 },
      response: { utterances: [withWords] },
    },
  },
  export: {
    description:
      'An attachment named after the title, with labels in Romanian for a Romanian recording. Subtitles have two lines of 42 ' +
      'characters at most, of 1 to 7 seconds. 409 `nothing_heard`: there is no text yet.',
    example: { params: byId, query: { format: 'md' }, response: 'The transcript as Markdown.' },
  },
  get: {
    description:
      'While a step is under way or waits for its next try, `processing` says which, how often it was tried, why it failed ' +
      'and when it goes on; `status` stays. After a failure what was heard before can be read.',
    example: { params: byId, query: { words: 'none' }, response: { transcript: exampleTranscript } },
  },
  update: {
    description: 'Fields that are left out stay; `null` sets one back.',
    example: {
      params: byId,
      body: { title: 'Standup', tags: ['team'] },
      response: { transcript: exampleTranscript },
    },
  },
  remove: {
    description: 'Nothing of it comes back, and share links lead nowhere at once. Minutes that were used stay used.',
    example: { params: byId, response: { deleted: true, id: samples.transcript } },
  },
  finalize: {
    description:
      'The uploads must be complete and hold sound of 3 hours at most; they are kept from then on. Minutes are reserved, 429 ' +
      '`quota_exceeded` says that the month has too few. The same body again answers the same, another one 409.',
    example: {
      params: recording,
      body: {
        duration_ms: 1_000,
        uploads: [{ track: 'mixed', upload_id: samples.soundUpload }],
        bookmarks: [],
        preview_text: 'Ana sends the draft on Friday.',
      },
      response: { transcript: exampleQueued },
    },
  },
  retranscribe: {
    description:
      'The old text stays until the new one is there; corrections of utterances that are heard again are kept. After a ' +
      'failure only the windows are asked for that failed. 409 `audio_purged`: the audio went after 30 days.',
    example: {
      params: byId,
      response: {
        transcript: {
          ...exampleTranscript,
          status: 'queued',
          processing: exampleQueued.processing,
        },
      },
    },
  },
  reanalyze: {
    description:
      'Such as after corrections, which mark the insights as `stale`. The old ones stay until the new are there.',
    example: {
      params: byId,
      response: {
        transcript: {
          ...exampleTranscript,
          status: 'analyzing',
          processing: { ...exampleStep, step: 'insights' },
        },
      },
    },
  },
  live: {
    description:
      'Sent by the device that records, a few times a second at most: of frames within 250 ms the later ones are dropped. ' +
      'They reach those who follow the stream and are stored nowhere.',
    example: {
      params: recording,
      body: { finals: [{ text: 'Ana sends', start_ms: 0, end_ms: 900 }], partial: 'the draft', level: 0.4 },
      response: { accepted: true },
    },
  },
  bookmark: {
    description: 'Also while it is still recorded. A recording has at most 500.',
    example: {
      params: byId,
      body: { at_ms: 4_000, note: 'the date' },
      response: { bookmark: { id: samples.bookmark, at_ms: 4_000, note: 'the date', created_at: at } },
    },
  },
  removeBookmark: {
    description: 'Takes a mark away; the others, and what is said there, stay as they are.',
    example: {
      params: { ...byId, bookmarkId: samples.bookmark },
      response: { deleted: true, id: samples.bookmark },
    },
  },
  updateSpeaker: {
    description:
      'Naming one as another is named joins the two, and all that either said is of one speaker then. At most one is the ' +
      'user: marking a second moves the mark.',
    example: {
      params: { ...byId, label: 'S1' },
      body: { name: 'Ana' },
      response: {
        speaker: { ...exampleSpeaker, name: 'Ana' },
        speakers: [{ ...exampleSpeaker, name: 'Ana' }],
      },
    },
  },
  updateUtterance: {
    description:
      'The text that was heard stays in `original_text`, and insights become `stale`. `text: null` takes a correction back.',
    example: {
      params: { ...byId, seq: 0 },
      body: { text: 'Ana sends the contract on Friday.' },
      response: {
        utterance: {
          ...exampleUtterance,
          text: 'Ana sends the contract on Friday.',
          original_text: 'Ana sends the draft on Friday.',
          edited_at: at,
        },
      },
    },
  },
  acceptPrompt: {
    description: 'It stands among the prompts with `source: transcript`; accepting it twice keeps one.',
    example: {
      params: { ...byId, index: 0 },
      response: { created: true, id: samples.prompt, prompt: acceptedPrompt },
    },
  },
  ...libraryDocs,
} satisfies Docs<typeof transcripts>;
