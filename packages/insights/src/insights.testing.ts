import { readFileSync } from 'node:fs';
import type { HeardUtterance, Passage, Recording } from './index.ts';

const namesFor = {
  en: ['Adrian Pop', 'Sara Lind', 'Victor Hahn', 'Laura Costa'],
  ro: ['Mihaela Dobre', 'Andrei Stan', 'Radu Ilie', 'Ioana Marin'],
} as const;

/** A recording of lines `label: text`, each of which takes as long as it has letters. */
export function recordingOf(lines: readonly string[], more: Partial<Recording> = {}): Recording {
  let at = 0;
  const utterances = lines.map((line, seq): HeardUtterance => {
    const [speaker = '', ...rest] = line.split(': ');
    const text = rest.join(': ');
    const startMs = at;
    at += 500 + text.length * 60;
    return { seq, speaker, startMs, endMs: at - 500, text };
  });
  return {
    title: null,
    startedAt: new Date('2026-05-04T09:00:00Z'),
    durationMs: at,
    language: null,
    speakers: [...new Set(utterances.map(({ speaker }) => speaker))].map((label) => ({
      label,
      name: null,
      isSelf: label === 'S1',
    })),
    utterances,
    ...more,
  };
}

/** A meeting of the fixtures. */
export function meeting(language: 'en' | 'ro'): Recording {
  const text = readFileSync(new URL(`../fixtures/meeting.${language}.txt`, import.meta.url), 'utf8');
  const speakers = namesFor[language].map((name, n) => ({ label: `S${n + 1}`, name, isSelf: n === 0 }));
  return recordingOf(text.trim().split('\n'), { speakers });
}

/** Three hours: the meetings over and over, 5,000 utterances and some 60,000 words. */
export function threeHours(): Recording {
  const lines = (['en', 'ro'] as const).flatMap((language) =>
    meeting(language).utterances.map(({ speaker, text }) => `${speaker}: ${text}`),
  );
  return recordingOf(Array.from({ length: 5_000 }, (_, n) => `${lines[n % lines.length]} It is number ${n}.`));
}

/** Utterances of a recording as passages. */
export const passagesOf = (recording: Recording, seqs: readonly number[]): Passage[] =>
  seqs.flatMap((seq, n) => {
    const utterance = recording.utterances.find((one) => one.seq === seq);
    const speaker = recording.speakers.find(({ label }) => label === utterance?.speaker);
    if (!utterance) return [];
    const { startedAt } = recording;
    const more = {
      n: n + 1,
      transcriptId: 't1',
      title: 'Weekly meeting',
      startedAt,
      speakerName: speaker?.name ?? null,
    };
    return [{ ...utterance, ...more }];
  });
