import type { Words } from '../words/words.tsx';
import { failureOf, isUnreached } from './client.ts';

/** A failure as a page shows it. */
interface Problem {
  text: string;
  traceId: string | undefined;
  isNotAllowed: boolean;
}

/** Our words for the code of a failure; the API's own, in English, for one that the hub has no words for. */
export function problemOf(error: unknown, words: Words): Problem {
  const failure = failureOf(error);
  if (!failure) return { text: words.errors.unexpected, traceId: undefined, isNotAllowed: false };
  const byCode: Record<string, string> = words.errors.codes;
  const text = isUnreached(error) ? words.errors.unreached : (byCode[failure.code] ?? failure.message);
  return { text, traceId: failure.traceId, isNotAllowed: failure.status === 403 && failure.code === 'forbidden' };
}

/** What the API says of each field, by its path. */
export function fieldProblems(error: unknown): Record<string, string> {
  const details = failureOf(error)?.details as { fieldErrors?: Record<string, string[]> } | undefined;
  return Object.fromEntries(
    Object.entries(details?.fieldErrors ?? {}).map(([path, messages]) => [path, messages.join('; ')]),
  );
}
