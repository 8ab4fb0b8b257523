import type { Reason } from '@svc/contract';
import type { Words } from '../words/en.ts';

/** What the API says beside a message: its sentences by field, and what they say by code. */
export type Details = { fieldErrors?: Record<string, string[]>; reasons?: Record<string, Reason[]> } | undefined;

/**
 * Reasons in the person's words; undefined unless they say all that the API's sentences do, `sentences` of them, and
 * the language has words for each.
 */
function saidOf(given: readonly Reason[], sentences: number, { errors }: Words): string | undefined {
  const said = given.map(({ code, params }) => {
    const own = errors.reasons[code];
    return typeof own === 'function' ? own(params) : own;
  });
  if (said.length === 0 || said.length < sentences || said.includes(undefined)) return undefined;
  return [...new Set(said)].join(' ');
}

/** What is wrong at one path, in the person's words or else in the API's. */
const saidAt = (path: string, messages: readonly string[], details: Details, words: Words): string =>
  saidOf(details?.reasons?.[path] ?? [], messages.length, words) ?? messages.join('; ');

/**
 * All that is wrong in the person's words, each field under its name, those without words as the API says them.
 * Undefined where no field is named and the language has no words for the message.
 */
export function detailOf(details: Details, words: Words, message: string): string | undefined {
  // The API's own language: the message says all of it.
  if (Object.keys(words.errors.reasons).length === 0) return message;
  const fields = Object.entries(details?.fieldErrors ?? {});
  if (fields.length === 0) return saidOf(details?.reasons?.['body'] ?? [], 1, words);
  const said = fields.map(([path, messages]) => {
    const text = saidAt(path, messages, details, words).replace(/[^.!?]$/, '$&.');
    return path === 'body' ? text : `${path}: ${text}`;
  });
  return said.join(' ');
}

/** What is wrong with each field, by its path; of a part, such as `types.1`, at its field too. */
export function fieldsOf(details: Details, words: Words): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const [path, messages] of Object.entries(details?.fieldErrors ?? {})) {
    const said = saidAt(path, messages, details, words);
    problems[path] = said;
    const [field = path] = path.split('.');
    problems[field] ??= said;
  }
  return problems;
}
