import { languageCode, languageOf } from '@svc/speech';
import { z } from 'zod';
import { titleOf } from './title.ts';
import {
  type Cite,
  evidenceAt,
  type Grounds,
  groundsOf,
  isCarried,
  isOfRecording,
  resolved,
  speakerNamed,
  standsIn,
} from './grounds.ts';
import { objectIn } from './json.ts';
import { fitting, sentencesOf } from './sentences.ts';
import type { Citation, Cited, Insights, Recording } from './types.ts';
import { cleanLine, startOf } from './words.ts';

/** Bounds of insights: entries of lists, and UTF-16 units of texts. */
const most = {
  title: 200,
  summary: 4_000,
  text: 1_000,
  owner: 100,
  due: 100,
  prompt: 4_000,
  citations: 10,
  key_points: 20,
  actions: 50,
  decisions: 30,
  open_questions: 30,
  prompts: 12,
} as const;
/** Sentences that are checked of each text of a model. */
const mostSentences = 40;
/** Statements of a list that are checked, for each one that it may have. */
const mostTries = 4;
/** Citations that are read of each text. */
const mostCites = 50;

const cite = z.union([
  z.number().transform((seq): Cite => ({ seq })),
  z
    .object({ seq: z.number(), quote: z.string().nullish() })
    .transform(({ seq, quote }): Cite => ({ seq, quote: quote ?? undefined })),
]);
const cites = z.array(cite).nullish();
const cited = z.object({ text: z.string(), citations: cites });
const action = cited.extend({ owner: z.string().nullish(), due: z.string().nullish() });
const list = <T extends z.ZodType>(item: T) => z.array(item).nullish();
const schema = z.object({
  language: z.string().nullish(),
  title: z.string(),
  summary: z.union([z.string(), z.array(cited)]),
  key_points: list(cited),
  actions: list(action),
  decisions: list(cited),
  open_questions: list(cited),
  prompts: list(z.object({ title: z.string(), prompt: z.string() })),
});
type Given = z.output<typeof cited>;

/**
 * Reads a model's answer to `insightsQuestion` or `mergeQuestion`. Times and speakers of citations are the recording's own; an
 * unknown `seq` and a quote that does not stand in its utterance are left out; a sentence that the cited utterances and the two
 * around each do not carry is left out and counted. `wrong` is a sentence to be said to the model for one repair. Never throws.
 */
export function readInsights(answer: string, recording: Recording): { insights: Insights } | { wrong: string } {
  const read = objectIn(answer, schema);
  if ('wrong' in read) return read;
  const { value } = read;
  const reading: Reading = { grounds: groundsOf(recording), dropped: 0 };
  const asIs = (_: Given, item: Cited): Cited => item;
  const key_points = listOf(reading, value.key_points, most.key_points, asIs);
  const decisions = listOf(reading, value.decisions, most.decisions, asIs);
  const open_questions = listOf(reading, value.open_questions, most.open_questions, asIs);
  const actions = listOf(reading, value.actions, most.actions, (given, item) => actionOf(reading, given, item));
  const own = summaryOf(reading, value.summary);
  // Without a summary of its own the first key points are one: they are carried.
  const summary =
    own === ''
      ? fitting(
          key_points.slice(0, 3).map(({ text }) => text),
          most.summary,
        ).join(' ')
      : own;
  const isEmpty = summary === '' && key_points.length + actions.length + decisions.length + open_questions.length === 0;
  if (isEmpty && recording.utterances.length > 0 && reading.dropped > 0) {
    return {
      wrong:
        'No sentence is carried by the utterances that it cites: cite their seq, and keep to their words, names and numbers.',
    };
  }
  return {
    insights: {
      language: languageFor(value.language, recording, summary),
      title: titleFor(reading.grounds, value.title),
      summary,
      key_points,
      actions,
      decisions,
      open_questions,
      prompts: promptsOf(value.prompts ?? []),
      dropped: reading.dropped,
    },
  };
}

interface Reading {
  grounds: Grounds;
  dropped: number;
}

const codeOf = (name: string | null | undefined): string | null => (name ? languageCode(name) : null);

const languageFor = (given: string | null | undefined, { language }: Recording, summary: string): string | null =>
  codeOf(given) ?? codeOf(language) ?? languageOf(summary);

function titleFor(grounds: Grounds, given: string): string {
  const title = startOf(cleanLine(given), most.title).trim();
  return title !== '' && isOfRecording(grounds, title) ? title : titleOf(grounds.recording);
}

/** The sentences of a text that are carried; each other one is counted. */
function carriedOf(reading: Reading, text: string, citations: readonly Citation[], most: number): string {
  const sentences = sentencesOf(cleanLine(startOf(text, 10 * most)), most).map((sentence) => sentence.text);
  const checked = sentences.slice(0, mostSentences);
  const kept = fitting(
    checked.filter((sentence) => isCarried(reading.grounds, sentence, citations)),
    most,
  );
  reading.dropped += sentences.length - kept.length;
  return kept.join(' ');
}

/** The statements that are carried, each text once, as `asItem` completes them. */
function listOf<G extends Given, C extends Cited>(
  reading: Reading,
  given: readonly G[] | null | undefined,
  length: number,
  asItem: (given: G, item: Cited) => C,
): C[] {
  const found = new Map<string, C>();
  for (const [n, one] of (given ?? []).entries()) {
    const isTried = found.size < length && n < mostTries * length;
    const item = isTried ? itemOf(reading, one) : undefined;
    if (item && !found.has(item.text)) found.set(item.text, asItem(one, item));
    else if (!isTried) reading.dropped += 1;
  }
  return [...found.values()];
}

/** A statement with its citations; undefined, and counted, when they do not carry it. */
function itemOf(reading: Reading, { text, citations: given }: Given): Cited | undefined {
  const citations = resolved(reading.grounds, (given ?? []).slice(0, mostCites), most.citations);
  if (citations.length === 0) {
    reading.dropped += 1;
    return undefined;
  }
  const carried = carriedOf(reading, text, citations, most.text);
  return carried === '' ? undefined : { text: carried, citations };
}

function summaryOf(reading: Reading, given: string | readonly Given[]): string {
  if (typeof given === 'string') return carriedOf(reading, given, [], most.summary);
  const read = given.slice(0, mostSentences);
  reading.dropped += given.length - read.length;
  const kept = read.flatMap((one) => itemOf(reading, one)?.text ?? []);
  const sentences = fitting(kept, most.summary);
  reading.dropped += kept.length - sentences.length;
  return sentences.join(' ');
}

/** Who does it: a speaker, by name or label, or somebody whom the evidence names. */
function ownerOf({ grounds }: Reading, given: string, citations: readonly Citation[]): string | null {
  const owner = startOf(cleanLine(given), most.owner).trim();
  const speaker = speakerNamed(grounds, owner);
  if (speaker) return speaker.name ?? speaker.label;
  return standsIn(owner, evidenceAt(grounds, citations)) ? owner : null;
}

function actionOf(reading: Reading, given: z.output<typeof action>, item: Cited): Insights['actions'][number] {
  const due = startOf(cleanLine(given.due ?? ''), most.due).trim();
  return {
    ...item,
    owner: ownerOf(reading, given.owner ?? '', item.citations),
    due: standsIn(due, evidenceAt(reading.grounds, item.citations)) ? due : null,
  };
}

function promptsOf(given: readonly { title: string; prompt: string }[]): Insights['prompts'] {
  return given
    .slice(0, 10 * most.prompts)
    .map(({ title, prompt }) => ({
      title: startOf(cleanLine(title), most.title),
      prompt: startOf(cleanText(prompt), most.prompt).trim(),
    }))
    .filter(({ title, prompt }) => title !== '' && prompt !== '')
    .slice(0, most.prompts);
}

/** A text of several lines as a database can hold it. */
const cleanText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
