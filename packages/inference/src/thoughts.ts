import { isSealed } from './sealed.ts';
import { isObject, objectsOf, textOf, type Value } from './values.ts';

/** Where each kind of thought has its signature. */
const signatureNames = new Map([
  ['thinking', 'signature'],
  ['reasoning', 'encrypted_content'],
]);

const saysNothing = ({ thinking, summary, content }: Value): boolean =>
  (textOf(thinking) ?? '') === '' && objectsOf(summary).length === 0 && objectsOf(content).length === 0;

const endsTurn = ({ role, type }: Value): boolean => role === 'user' || type === 'function_call_output';

/**
 * Blocks of a turn, or items of a request, with each signature at its thought: one that came at the end of a stream
 * stands alone, as the thought was told by then, and belongs to the first before it that has none of its provider.
 */
export function joinedThoughts<T>(given: readonly T[]): readonly T[] {
  const all = [...given];
  const gone = new Set<number>();
  let unsigned: number[] = [];
  for (const [at, one] of given.entries()) {
    if (!isObject(one)) continue;
    if (endsTurn(one)) unsigned = [];
    const name = signatureNames.get(textOf(one['type']) ?? '');
    if (name === undefined) continue;
    const signature = textOf(one[name]) ?? '';
    if (signature === '' || isSealed(signature)) {
      if (!saysNothing(one)) unsigned.push(at);
      continue;
    }
    const first = saysNothing(one) ? unsigned.shift() : undefined;
    if (first === undefined) continue;
    all[first] = { ...(given[first] as T), [name]: signature };
    gone.add(at);
  }
  return gone.size === 0 ? given : all.filter((_, at) => !gone.has(at));
}

/** Fields of a client's request that go to a lane of its own protocol in another form; none: it goes as it is. */
export function withoutSealed(name: 'messages' | 'input', body: Value): Record<string, unknown> {
  const given = body[name];
  if (!Array.isArray(given)) return {};
  const isOurs = (one: unknown): boolean =>
    isObject(one) && isSealed(one[signatureNames.get(textOf(one['type']) ?? '') ?? '']);
  const clean = (list: readonly unknown[]): readonly unknown[] => {
    const joined = joinedThoughts(list);
    return joined.some(isOurs) ? joined.filter((one) => !isOurs(one)) : joined;
  };
  const cleaned = clean(given as unknown[]);
  const kept = cleaned.map((one) => {
    if (!isObject(one) || !Array.isArray(one['content'])) return one;
    const content = clean(one['content'] as unknown[]);
    return content === one['content'] ? one : { ...one, content };
  });
  return cleaned !== given || kept.some((one, at) => one !== cleaned[at]) ? { [name]: kept } : {};
}
