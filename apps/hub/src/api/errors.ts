import type { Words } from '../words/words.tsx';
import { failureOf, isUnreached } from './client.ts';

/** A failure as a page shows it. */
interface Problem {
  text: string;
  /** What the API says of this one case, in English: which scope or role is lacking, which field is wrong. */
  detail: string | undefined;
  traceId: string | undefined;
  isNotAllowed: boolean;
}

/** Our words for the code of a failure; the API's own, in English, for one that the hub has no words for. */
export function problemOf(error: unknown, words: Words): Problem {
  const failure = failureOf(error);
  if (!failure) return { text: words.errors.unexpected, detail: undefined, traceId: undefined, isNotAllowed: false };
  const byCode: Record<string, string> = words.errors.codes;
  const text = isUnreached(error) ? words.errors.unreached : (byCode[failure.code] ?? failure.message);
  const isNotAllowed = failure.code === 'forbidden';
  const detail = isNotAllowed || failure.code === 'bad_request' ? failure.message : undefined;
  return { text, detail, traceId: failure.traceId, isNotAllowed };
}

/** What the API says of each field, by its path; of a part, such as `types.1`, at its field too. */
export function fieldProblems(error: unknown): Record<string, string> {
  const details = failureOf(error)?.details as { fieldErrors?: Record<string, string[]> } | undefined;
  const problems: Record<string, string> = {};
  for (const [path, messages] of Object.entries(details?.fieldErrors ?? {})) {
    problems[path] = messages.join('; ');
    const [field = path] = path.split('.');
    problems[field] ??= messages.join('; ');
  }
  return problems;
}
