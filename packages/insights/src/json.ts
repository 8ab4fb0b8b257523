import type { z } from 'zod';

/** UTF-16 units of an answer that are read; the most that was asked for is a tenth. */
const mostUnits = 1_000_000;

/**
 * The JSON object that a model's answer holds, by its schema; or what is wrong with it, as a sentence to be said to the model.
 * Never throws. No pattern reads the answer: a model may answer with a megabyte of braces.
 */
export function objectIn<T>(answer: string, schema: z.ZodType<T>): { value: T } | { wrong: string } {
  if (answer.length > mostUnits) return { wrong: 'The answer is too long.' };
  const [from, to] = [answer.indexOf('{'), answer.lastIndexOf('}')];
  if (from === -1 || to < from) return { wrong: 'The answer holds no JSON object.' };
  let value: unknown;
  try {
    value = JSON.parse(answer.slice(from, to + 1));
  } catch {
    return { wrong: 'The object is no valid JSON.' };
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data };
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join('.') ?? '';
  return {
    wrong: `${where === '' ? 'The object' : `"${where}"`} is wrong: ${issue?.message ?? 'invalid'}.`.slice(0, 300),
  };
}
