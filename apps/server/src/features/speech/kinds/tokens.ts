import { numberOf } from '@svc/inference';
import type { HeardWord } from '@svc/speech';

/** A piece of a word, as models put words together. The first one of a word begins with a space. */
interface Token {
  text: string;
  startMs: number;
  endMs: number;
  /** 0..1. */
  confidence?: number | undefined;
}

const begins = /^[\s▁]/u;

/** Words from tokens. Where no token begins with a space, as in Chinese, each is a word. */
export function wordsOfTokens(tokens: readonly Token[]): HeardWord[] {
  const hasSpaces = tokens.some(({ text }) => begins.test(text));
  const words: HeardWord[] = [];
  for (const { text, startMs, endMs, confidence } of tokens) {
    const bare = text.replaceAll('▁', ' ').trim();
    if (bare === '') continue;
    const last = words.at(-1);
    const isPart = last !== undefined && hasSpaces && !begins.test(text);
    if (isPart) {
      last.text += bare;
      last.endMs = endMs;
      if (confidence !== undefined) last.confidence = Math.min(last.confidence ?? 1, confidence);
    } else words.push({ text: bare, startMs, endMs, ...(confidence !== undefined && { confidence }) });
  }
  return words;
}

/** A confidence from the mean of a segment's log probabilities. */
export function confidenceOf(logprob: unknown): { confidence?: number } {
  const given = numberOf(logprob);
  return given === undefined ? {} : { confidence: Math.min(1, Math.exp(given)) };
}
