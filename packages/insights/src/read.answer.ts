import { languageOf } from '@svc/speech';
import { z } from 'zod';
import { notFound } from './ask.ts';
import { carries, claimOf, type Evidence, evidenceOf, evidencesOf } from './evidence.ts';
import { objectIn } from './json.ts';
import { namesOf, wordsOfNames } from './names.ts';
import { isoOf } from './question.ts';
import { quoteIn } from './quotes.ts';
import { sentencesOf } from './sentences.ts';
import type { Answered, Passage } from './types.ts';
import { cleanLine, startOf } from './words.ts';

/** UTF-16 units of an answer and of a sentence, lines, and citations that are read. */
const mostAnswer = 8_000;
const longestSentence = 2_000;
const mostLines = 200;
const mostSentences = 300;
const mostCitations = 100;
/** Passages that a sentence without a number may be carried by are tried up to this many. */
const mostTried = 20;

const schema = z.object({
  found: z.boolean().nullish(),
  answer: z.string(),
  citations: z.array(z.object({ n: z.number(), quote: z.string() })).nullish(),
});

/** A passage with a quote that stands in it. */
interface Source {
  passage: Passage;
  quote: string;
  evidence: Evidence[];
}

interface Reading {
  sources: ReadonlyMap<number, Source>;
  /** Names that were said or speak, folded. */
  known: ReadonlySet<string>;
  /** UTF-16 units that the answer may still have. */
  left: number;
  /** Sentences that may still be checked. */
  sentences: number;
  /** The new number of each passage that is used, by its old one, in order of first use. */
  numbers: Map<number, number>;
}

/**
 * Reads a model's answer to `askQuestion`. A citation counts when its quote stands in its passage word for word; a sentence
 * stays when the passages that it names, or one that is cited, carry it. `found: false` is an answer without citations. `wrong`
 * is a sentence to be said to the model for one repair: nothing is left. Never throws.
 */
export function readAnswer(answer: string, passages: readonly Passage[]): { answered: Answered } | { wrong: string } {
  const read = objectIn(answer, schema);
  if ('wrong' in read) return read;
  const { value } = read;
  if (value.found === false) {
    return { answered: { answer: notFound[languageOf(value.answer) === 'ro' ? 'ro' : 'en'], citations: [] } };
  }
  const reading: Reading = {
    sources: sourcesOf(value.citations ?? [], passages),
    known: new Set([...namesOf(passages).keys(), ...wordsOfNames(passages.map(({ speakerName }) => speakerName))]),
    left: mostAnswer,
    sentences: mostSentences,
    numbers: new Map(),
  };
  const lines = startOf(value.answer, 4 * mostAnswer)
    .replaceAll(/([.!?…])(\[\d)/gu, '$1 $2')
    .split('\n', mostLines)
    .flatMap((line) => lineOf(cleanLine(line), reading) ?? []);
  const text = lines.join('\n');
  if (text === '') {
    return {
      wrong:
        'No sentence of the answer is carried by a passage that it names with [n] and quotes word for word; if the passages do not answer, say "found": false.',
    };
  }
  const citations = [...reading.numbers].flatMap(([n, number]) => {
    const source = reading.sources.get(n);
    return source && text.includes(`[${number}]`) ? [{ n: number, passage: source.passage, quote: source.quote }] : [];
  });
  return { answered: { answer: text, citations } };
}

function sourcesOf(given: readonly { n: number; quote: string }[], passages: readonly Passage[]): Map<number, Source> {
  const byNumber = new Map(passages.toReversed().map((passage) => [passage.n, passage]));
  const sources = new Map<number, Source>();
  for (const { n, quote } of given.slice(0, mostCitations)) {
    const passage = byNumber.get(n);
    if (!passage || sources.has(n)) continue;
    const own = quoteIn(passage.text, quote);
    if (own !== undefined) sources.set(n, { passage, quote: own, evidence: passageEvidence(passage) });
  }
  return sources;
}

const months = [
  'january ianuarie',
  'february februarie',
  'march martie',
  'april aprilie',
  'may mai',
  'june iunie',
  'july iulie',
  'august august',
  'september septembrie',
  'october octombrie',
  'november noiembrie',
  'december decembrie',
];

/** A passage carries its own words, the title and day of its recording, and its speaker's name. */
function passageEvidence({ text, title, startedAt, speaker, speakerName }: Passage): Evidence[] {
  const evidence = evidenceOf(title);
  for (const word of wordsOfNames([speaker, speakerName])) evidence.words.add(word);
  const iso = isoOf(startedAt);
  if (iso !== null) {
    const [year, month, day] = [iso.slice(0, 4), Number(iso.slice(5, 7)), Number(iso.slice(8, 10))];
    for (const one of [year, String(month), String(day)]) evidence.numbers.add(one);
    for (const one of (months[month - 1] ?? '').split(' ')) evidence.words.add(one);
  }
  return [evidence, ...evidencesOf(text)];
}

const marks = /\s*\[\s*\d{1,6}(?:\s*,\s*\d{1,6}){0,20}\s*\]/gu;
const leadingMarks = /^(?:\s*\[\s*\d{1,6}(?:\s*,\s*\d{1,6}){0,20}\s*\])+/u;
const bullet = /^\s*(?:[-*•]|\d{1,3}[.)])\s+/u;

/** The sentences of a line that are carried, with their new numbers; undefined when nothing is left. */
function lineOf(line: string, reading: Reading): string | undefined {
  const { sources, known, numbers } = reading;
  const lead = bullet.exec(line)?.[0] ?? '';
  const kept: string[] = [];
  for (const { text, cites } of markedOf(line.slice(lead.length))) {
    if ((reading.sentences -= 1) < 0) break;
    const claim = claimOf(text, known);
    const isCarried = (bases: readonly number[]): boolean =>
      carries(
        claim,
        bases.flatMap((n) => sources.get(n)?.evidence ?? []),
      );
    const named = cites.filter((n) => sources.has(n));
    // A model may forget the number: one passage that it quotes must carry the sentence alone.
    const bases =
      cites.length > 0
        ? named
        : [...sources.keys()]
            .slice(0, mostTried)
            .filter((n) => isCarried([n]))
            .slice(0, 1);
    if (bases.length === 0 || !isCarried(bases)) continue;
    // A number has at most six figures with its brackets; the mark of an item and the space before it are few.
    reading.left -= text.length + 6 * bases.length + lead.length + 2;
    if (reading.left < 0) break;
    for (const n of bases) if (!numbers.has(n)) numbers.set(n, numbers.size + 1);
    kept.push(`${text} ${bases.map((n) => `[${numbers.get(n)}]`).join('')}`);
  }
  return kept.length === 0 ? undefined : [cleanLine(lead), ...kept].filter((part) => part !== '').join(' ');
}

/** The sentences of a line without their [n], and which those are; one that follows a sentence's stop belongs to it. */
function markedOf(line: string): { text: string; cites: number[] }[] {
  const found: { text: string; cites: Set<number> }[] = [];
  for (const { text } of sentencesOf(line, longestSentence)) {
    const before = leadingMarks.exec(text)?.[0] ?? '';
    for (const n of numbersIn(before)) found.at(-1)?.cites.add(n);
    const rest = text.slice(before.length);
    const own = cleanLine(rest.replace(marks, ''));
    if (own !== '') found.push({ text: own, cites: new Set(numbersIn(rest)) });
  }
  return found.map(({ text, cites }) => ({ text, cites: [...cites] }));
}

const numbersIn = (text: string): number[] =>
  [...text.matchAll(marks)].flatMap(([found]) => (found.match(/\d+/g) ?? []).map(Number));
