import { languageCode, languageOf } from '@svc/speech';
import { wordsOfNames } from './names.ts';
import { numbersOf } from './numbers.ts';
import { everyday, framing } from './plain.words.ts';
import { dateWords } from './stop.words.ts';
import type { Recording } from './types.ts';
import { bare, cleanLine, isStop, startOf, stem, tokensOf } from './words.ts';

const mostWords = 3;
const mostUnits = 200;
/** Shorter words name nothing that a title is made of. */
const leastLetters = 4;
/** Utterances by which a language is told, and characters of each. */
const sampled = 400;
const sampledUnits = 50;

/** The language of a recording: two letters of what it says of itself, else by its words; null when neither is clear. */
export function spokenLanguage({ language, utterances }: Recording): string | null {
  const named = language === null ? null : languageCode(language);
  if (named !== null) return named;
  const step = Math.max(1, Math.floor(utterances.length / sampled));
  const sample = utterances.filter((_, n) => n % step === 0).map(({ text }) => startOf(text, sampledUnits));
  return languageOf(sample.join(' '));
}

/** A title of the words that a recording says in most places; without any its own title, or "Recording". */
export function titleOf(recording: Recording): string {
  const speakers = new Set(wordsOfNames(recording.speakers.map(({ name }) => name)));
  const places = new Map<string, number>();
  const forms = new Map<string, Map<string, number>>();
  for (const { text } of recording.utterances) {
    const seen = new Set<string>();
    const tokens = tokensOf(text);
    const { places: numerals } = numbersOf(tokens);
    for (const [n, token] of tokens.entries()) {
      const word = bare(token.text);
      if (word.length < leastLetters || isStop(word) || speakers.has(word) || dateWords.has(word) || numerals.has(n))
        continue;
      const root = stem(word);
      if (framing.has(root) || everyday.has(root)) continue;
      const form = text.slice(token.start, token.end).replace(/['’]\p{L}*$/u, '');
      const own = forms.get(root) ?? new Map<string, number>();
      forms.set(root, own.set(form, (own.get(form) ?? 0) + 1));
      if (!seen.has(root)) places.set(root, (places.get(root) ?? 0) + 1);
      seen.add(root);
    }
  }
  // The sort is stable: of two that are said as often the first comes first.
  const best = [...places].sort((a, b) => b[1] - a[1]).slice(0, mostWords);
  const words = best.map(([root]) => formOf(forms.get(root) ?? new Map(), root));
  const title = startOf(cleanLine(words.join(', ')), mostUnits);
  if (title !== '') return title.replace(/^\p{L}/u, (letter) => letter.toUpperCase());
  const own = startOf(cleanLine(recording.title ?? ''), mostUnits);
  return own === '' ? (spokenLanguage(recording) === 'ro' ? 'Înregistrare' : 'Recording') : own;
}

/** The form of a word that was said most, as it stands inside of a sentence where it was. */
function formOf(forms: ReadonlyMap<string, number>, root: string): string {
  const sorted = [...forms].sort((a, b) => b[1] - a[1]);
  const [most = root] = sorted[0] ?? [];
  return sorted.find(([form]) => form === most.toLowerCase())?.[0] ?? most;
}
