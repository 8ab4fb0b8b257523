import { api } from '../../api/client.ts';
import type { Tone } from '../../ui/Status.tsx';
import type { Words } from '../../words/words.tsx';

/** A sandbox of the API. */
export type SandboxRecord = Awaited<ReturnType<typeof api.sandboxes.list>>['data'][number];

/** How a state looks. */
export const stateTone: Record<SandboxRecord['status'], Tone> = {
  running: 'good',
  paused: 'rest',
  stopped: 'rest',
  expired: 'warn',
  destroyed: 'rest',
};

/** What a write to a sandbox makes old. */
export const staleBySandbox = ['sandboxes', 'overview'];

const shownOfId = 8;
/** Its name, or the beginning of its id. */
export const nameOf = ({ id, name }: { id: string; name?: string | undefined }, words: Words): string =>
  name ?? words.sandboxes.unnamed(id.slice(0, shownOfId));

/** Whether it can still be used. */
export const isAlive = ({ status }: SandboxRecord): boolean => status === 'running' || status === 'paused';

/** Money in the language of the page; the API answers millionths of a euro. */
export const money = (microEur: number, locale: string): string =>
  (microEur / 1_000_000).toLocaleString(locale, {
    style: 'currency',
    currency: 'EUR',
    maximumFractionDigits: microEur > 0 && microEur < 100_000 ? 4 : 2,
  });

/** Each fork below its parent, with how deep it stands; one whose parent is not in the list stands at the top. */
export function forkTree(all: readonly SandboxRecord[]): (SandboxRecord & { depth: number })[] {
  const ids = new Set(all.map(({ id }) => id));
  const children = new Map<string | undefined, SandboxRecord[]>();
  for (const one of all) {
    const parent = one.parent_id !== undefined && ids.has(one.parent_id) ? one.parent_id : undefined;
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  const rows: (SandboxRecord & { depth: number })[] = [];
  const waiting = (children.get(undefined) ?? []).toReversed().map((one) => ({ ...one, depth: 0 }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    rows.push(next);
    const depth = next.depth + 1;
    waiting.push(...(children.get(next.id) ?? []).toReversed().map((one) => ({ ...one, depth })));
  }
  return rows;
}
