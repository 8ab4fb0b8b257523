import type { Words } from '../words/words.tsx';
import { failureOf, isUnreached } from './client.ts';
import { detailOf, fieldsOf } from './reasons.rules.ts';

/** A failure as a page shows it. */
interface Problem {
  text: string;
  /**
   * What the API says of this one case: which scope or role is lacking, which field is wrong, which limit is reached.
   */
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
  // Words of ours say what was refused of these; of a request that is wrong, the API's sentence is all there is.
  const said = detailOf(failure.details, words, failure.message);
  const isLimit = isNotAllowed || failure.code === 'quota_exceeded';
  const detail = failure.code === 'bad_request' ? (said ?? failure.message) : isLimit ? said : undefined;
  return { text, detail, traceId: failure.traceId, isNotAllowed };
}

/** What the API says of each field, in the person's words, by its path. */
export const fieldProblems = (error: unknown, words: Words): Record<string, string> =>
  fieldsOf(failureOf(error)?.details, words);
