import type { Reason } from '@svc/contract';
import type { Words } from '../words/en.ts';

/** What the API says beside a message: its sentences by field, and what they say by code. */
export type Details = { fieldErrors?: Record<string, string[]>; reasons?: Record<string, Reason[]> } | undefined;

/** Reasons in the person's words; the API's sentence where the language has none for one of them. */
function saidOf(given: readonly Reason[], { errors }: Words, sentence: string): string {
  const said = given.map(({ code, params }) => {
    const own = errors.reasons[code];
    return typeof own === 'function' ? own(params) : own;
  });
  return said.length > 0 && said.every((one) => one !== undefined) ? [...new Set(said)].join(' ') : sentence;
}

/** All that is wrong, in the person's words, or else the API's sentence. */
export const detailOf = (details: Details, words: Words, sentence: string): string =>
  saidOf(Object.values(details?.reasons ?? {}).flat(), words, sentence);

/** What is wrong with each field, by its path; of a part, such as `types.1`, at its field too. */
export function fieldsOf(details: Details, words: Words): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const [path, messages] of Object.entries(details?.fieldErrors ?? {})) {
    const said = saidOf(details?.reasons?.[path] ?? [], words, messages.join('; '));
    problems[path] = said;
    const [field = path] = path.split('.');
    problems[field] ??= said;
  }
  return problems;
}
