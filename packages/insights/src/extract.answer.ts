import { languageOf } from '@svc/speech';
import { notFound } from './ask.ts';
import { decides } from './cues.ts';
import { shortened } from './quotes.ts';
import { weightsOf } from './salience.ts';
import { sentencesOf } from './sentences.ts';
import type { Answered, Passage } from './types.ts';
import { cleanLine, fold, isStop, stem, tokensOf } from './words.ts';

/** Passages and sentences of each that are read, and sentences of an answer. */
const mostPassages = 200;
const mostSentences = 200;
const mostAnswered = 4;
/** A sentence needs this share of the best one's score. */
const leastShare = 0.4;

/** Said before passages that no model made an answer of. */
const lead = {
  en: 'These are passages from the recordings, not an answer written by a model:',
  ro: 'Acestea sunt pasaje din înregistrări, nu un răspuns scris de un model:',
} as const;

const stemsOf = (text: string): Set<string> =>
  new Set(tokensOf(text).flatMap((token) => (isStop(token.text) ? [] : [stem(token.text)])));

/**
 * An answer without a model: the sentences of the passages that hold most of the question's words, rare ones first, each with
 * its number and quote, below a sentence in the question's language (English or Romanian) that says what they are. Earlier
 * passages count more: they are the better ones. When none holds a word of the question, it says so and cites nothing.
 */
export function extractAnswer(question: string, passages: readonly Passage[]): Answered {
  const sentences = passages.slice(0, mostPassages).flatMap((passage, rank) =>
    sentencesOf(passage.text)
      .slice(0, mostSentences)
      .map(({ text }) => ({ passage, rank, text, stems: stemsOf(text) })),
  );
  const language = languageIn(question, sentences);
  const weights = weightsOf(sentences);
  const wanted = [...stemsOf(question)];
  const wantsDecision = decides(fold(question).replace(/\?\s*$/, ''));
  const scored = sentences.map((sentence) => {
    const sum = wanted.reduce((total, one) => total + (sentence.stems.has(one) ? (weights.get(one) ?? 0) : 0), 0);
    const isDecision = wantsDecision && decides(fold(sentence.text));
    return { ...sentence, score: (sum * (isDecision ? 1.5 : 1)) / (1 + 0.05 * sentence.rank) };
  });
  // The sort is stable: of two as good the earlier passage's comes first.
  const best = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
  const chosen = best.slice(0, mostAnswered).filter(({ score }) => score >= leastShare * (best[0]?.score ?? 0));
  if (chosen.length === 0) return { answer: notFound[language], citations: [] };
  const citations: Answered['citations'] = [];
  const lines = chosen.map(({ passage, text }) => {
    const n = citations.length + 1;
    citations.push({ n, passage, quote: shortened(text) });
    return `${cleanLine(passage.speakerName ?? passage.speaker).slice(0, 100)}: “${cleanLine(text)}” [${n}]`;
  });
  return { answer: [lead[language], ...lines].join('\n'), citations };
}

/** The question's language, or the passages' when it is too short to tell. */
const languageIn = (question: string, sentences: readonly { text: string }[]): 'en' | 'ro' =>
  languageOf(question) ??
  (isRomanian(question)
    ? 'ro'
    : (languageOf(
        sentences
          .slice(0, 100)
          .map(({ text }) => text)
          .join(' '),
      ) ?? 'en'));

/** Short questions have few frequent words. */
const isRomanian = (question: string): boolean =>
  /[ăâîșțşţ]/iu.test(question) || /^\s*(?:ce|cine|cand|unde|cum|cat|cate|cati|care|de ce)\b/.test(fold(question));
