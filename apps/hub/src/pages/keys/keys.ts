import { api } from '../../api/client.ts';
import { type Answer, useAnswer } from '../../api/queries.ts';
import type { Tone } from '../../ui/Status.tsx';

/** A key of the API. */
export type KeyRecord = Awaited<ReturnType<typeof api.keys.list>>['keys'][number];

/** How a state looks. */
export const keyTone: Record<KeyRecord['status'], Tone> = { active: 'good', paused: 'rest', revoked: 'bad' };

/** What a write makes old. */
export const staleByKey = ['keys', 'connections'];

/** Every key of the account: who made which is known of all of them together. */
export function useAllKeys(): Answer<KeyRecord[]> {
  return useAnswer(['keys', 'all'], async () => {
    const all: KeyRecord[] = [];
    let cursor: string | undefined;
    do {
      const page = await api.keys.list({ query: cursor === undefined ? {} : { cursor } });
      all.push(...page.keys);
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    return all;
  });
}

/** Keys that a key made, and that those made, which can still be used or could be again. */
export function descendantsOf(id: string, all: readonly KeyRecord[]): KeyRecord[] {
  const found: KeyRecord[] = [];
  const waiting = [id];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const children = all.filter(({ parent_id: parent }) => parent === next);
    found.push(...children);
    waiting.push(...children.map((child) => child.id));
  }
  return found.filter(({ status }) => status !== 'revoked');
}
