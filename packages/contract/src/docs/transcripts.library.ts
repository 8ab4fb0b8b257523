import type { transcriptLibrary } from '../transcripts.library.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';
import { exampleFolder } from './transcripts.shapes.ts';

const byId = { id: samples.transcript };
const at = '2026-11-02T09:00:00.000Z';

/** Descriptions and examples of links, folders, vocabulary and playback. */
export const libraryDocs = {
  audio: {
    description:
      'Each address plays for an hour without a key, with ranges, so a browser can seek. 409 `audio_purged` after 30 days.',
    example: {
      params: byId,
      response: {
        tracks: [
          {
            track: 'mixed',
            url: `https://svc.example.com/v1/transcripts/${samples.transcript}/audio/mixed?expires=1793617200&signature=EXAMPLE`,
            expires_at: '2026-11-02T10:00:00.000Z',
            content_type: 'audio/wav',
            bytes: 288_044,
            duration_ms: 9_000,
          },
        ],
      },
    },
  },
  playAudio: {
    description: 'Follow the `url` of a track as it is. 403 `forbidden`: it was changed or is over an hour old.',
    example: {
      params: { ...byId, track: 'mixed' },
      query: { expires: samples.expires, signature: samples.signature },
      headers: { range: 'bytes=0-1023' },
      response: 'The bytes of the track.',
    },
  },
  share: {
    description:
      'The page at `url` shows title, speakers, text, summary, key points and actions, never audio, and nothing that tells ' +
      'whose it is. Of the token only its hash is kept, so this is the one answer that has it.',
    example: {
      params: byId,
      body: { expiresInDays: 7 },
      response: {
        id: samples.share,
        token: samples.shareToken,
        url: `https://svc.example.com/hub/t/${samples.shareToken}`,
        expiresAt: '2026-11-09T09:00:00.000Z',
      },
    },
  },
  listShares: {
    description: 'Expired and revoked links are not listed; `url` is null, since only its hash is kept.',
    example: {
      params: byId,
      query: {},
      response: {
        shares: [
          {
            id: samples.share,
            url: null,
            createdAt: at,
            expiresAt: '2026-11-09T09:00:00.000Z',
            lastViewedAt: null,
            views: 0,
          },
        ],
      },
    },
  },
  revokeShare: {
    description: 'Ends the link: whoever has it gets 404 from now on.',
    example: { params: { ...byId, shareId: samples.share }, response: { deleted: true, id: samples.share } },
  },
  publicTranscript: {
    description:
      'The same 404 for a token that is unknown, expired or revoked. 300 requests a minute and visitor, the page among them.',
    example: {
      params: { token: samples.shareToken },
      response: {
        title: 'Standup',
        started_at: at,
        duration_ms: 9_000,
        language: 'en',
        speakers: [{ label: 'S1', name: null }],
        utterances: [{ seq: 0, speaker: 'S1', start_ms: 0, end_ms: 9_000, text: 'Ana sends the draft on Friday.' }],
        summary: 'Ana sends the draft on Friday.',
        key_points: [{ text: 'Ana sends the draft on Friday.' }],
        actions: [],
        expiresAt: null,
      },
    },
  },
  listFolders: {
    description: 'The newest first; `parent_id` and `position` say how a person arranged them.',
    example: { query: {}, response: { folders: [exampleFolder] } },
  },
  createFolder: {
    description: 'At the top, or inside of another folder with `parent_id`.',
    example: { body: { name: 'Customers', color: '#2563eb' }, response: { folder: exampleFolder } },
  },
  getFolder: {
    description: 'With the number of transcripts that stand in it directly.',
    example: { params: { id: samples.folder }, response: { folder: exampleFolder } },
  },
  updateFolder: {
    description: 'A folder cannot stand in itself, nor in one that stands in it: 400.',
    example: {
      params: { id: samples.folder },
      body: { name: 'Customers', position: 0 },
      response: { folder: exampleFolder },
    },
  },
  removeFolder: {
    description: 'Nothing in it is deleted: its transcripts stand in no folder then, and its folders at the top.',
    example: { params: { id: samples.folder }, response: { deleted: true, id: samples.folder } },
  },
  vocabulary: {
    description: 'The words and names that are expected in recordings. Empty until it is written.',
    example: { response: { entries: [], updated_at: null } },
  },
  setVocabulary: {
    description:
      'Providers are told the terms where they take such a list, and what they misheard is written right afterwards; the ' +
      'text as it was heard stays in `original_text`.',
    example: {
      body: { entries: [{ term: 'Kubernetes', sounds_like: ['cooper netties'], language: null, note: null }] },
      response: {
        entries: [{ term: 'Kubernetes', sounds_like: ['cooper netties'], language: null, note: null }],
        updated_at: at,
      },
    },
  },
} satisfies Docs<typeof transcriptLibrary>;
