import assert from 'node:assert/strict';
import type { Script } from '../inference/inference.testing.ts';
import { protocols, type Says, type Spoken } from '../speech/speech.testing.ts';
import { openProviders, type OwnProviders, Recorder, saysJson } from '../transcripts/transcripts.testing.ts';
import { toneRecording, toneWords } from '../transcripts/transcripts.tones.testing.ts';

/** Milliseconds of the meeting, and its sound: its words are the provider's, who hears any sound so. */
export const meetingMs = 60_000;
export const meetingSound = toneRecording(toneWords({ durationMs: meetingMs }), meetingMs);

/** What is said in it, and by whom. */
const lines: [speaker: number, text: string][] = [
  [0, 'Good morning, let us begin with the launch.'],
  [1, 'The checks are green since Monday, only the mail queue is slow.'],
  [0, 'Then we launch on the third of December, in the morning.'],
  [1, 'Agreed. I write the announcement by Friday.'],
  [0, 'Who watches the queue during the launch?'],
  [1, 'I do, and Ana is called when it is late.'],
];
const wordSeconds = 0.6;

/** Each word at its time, one after the other. */
const spoken: Spoken[] = lines.flatMap(([speaker, text], line) =>
  text.split(' ').map((word, at): Spoken => {
    const start = line * 9 + 0.5 + at * wordSeconds;
    return { text: word, speaker, start, end: start + wordSeconds - 0.1 };
  }),
);

/** When the word at a place of a line begins, in milliseconds. */
export const beginsMs = (line: number, at = 0): number => Math.round((line * 9 + 0.5 + at * wordSeconds) * 1_000);

const cite = (seq: number) => [{ seq, quote: (lines[seq] as [number, string])[1] }];
const written = {
  language: 'en',
  title: 'Launch',
  summary: [{ text: 'The launch is on the third of December, in the morning.', citations: cite(2) }],
  key_points: [{ text: 'The checks are green since Monday, the mail queue is slow.', citations: cite(1) }],
  decisions: [{ text: 'We launch on the third of December in the morning.', citations: cite(2) }],
  actions: [{ text: 'Write the announcement by Friday.', owner: null, due: 'Friday', citations: cite(3) }],
  open_questions: [{ text: 'Who watches the queue during the launch?', citations: cite(4) }],
  prompts: [{ title: 'Announcement', prompt: 'Write the announcement of the launch on the third of December.' }],
};
/** What is asked of the meeting, and where the answer stands. */
export const asked = { question: 'When do we launch?', line: 2 };

/** Writes insights of the meeting, and answers the one question by the number of the passage that says it. */
const writes: Script = (response, taken) => {
  const [, quote] = lines[asked.line] as [number, string];
  const passages = taken.raw.replaceAll('\\"', '"');
  const [, n = '0'] = new RegExp(`"n":(\\d+),[^{}]*"text":"${quote}`).exec(passages) ?? [];
  const answer = {
    found: true,
    answer: `The launch is on the third of December, in the morning. [${n}]`,
    citations: [{ n: Number(n), quote }],
  };
  return saysJson(taken.raw.includes(asked.question) ? answer : written)(response, taken);
};

/** A provider that hears the meeting in any sound. */
const hears: Says = (response, got) => protocols.deepgram(spoken, 'en')(response, got);

/** Providers that hear the meeting and write of it. */
export const openMeetingProviders = (): Promise<OwnProviders> => openProviders({ says: hears, model: writes });

/** Records the meeting for an account, as a device does, until it can be read; answers its id. */
export async function recordMeeting(
  url: string,
  key: string,
  fields: object = {},
  tracks: Record<string, Buffer> = { mixed: meetingSound },
): Promise<string> {
  const recorder = new Recorder({ url }, { key });
  const id = await recorder.begin(fields);
  const { status, body } = await recorder.finalize(id, tracks);
  assert.equal(status, 200, JSON.stringify(body));
  const record = await recorder.over(id);
  assert.equal(record.status, 'ready', JSON.stringify(record.error));
  return id;
}
