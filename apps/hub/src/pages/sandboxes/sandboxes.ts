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
