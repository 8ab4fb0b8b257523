import { api } from '../../api/client.ts';
import { now } from '../../api/clock.ts';
import type { Words } from '../../words/words.tsx';

/** A session of the API. */
export type SessionRecord = Awaited<ReturnType<typeof api.sessions.get>>;
/** An event of a session, as the API answers it. */
export type SessionEntry = Awaited<ReturnType<typeof api.sessions.events>>['events'][number];

const shownOfId = 8;
/** Its title, or the beginning of its id. */
export const titleOf = ({ id, title }: { id: string; title?: string | undefined }, words: Words): string =>
  title === undefined || title === '' ? words.sessions.untitled(id.slice(0, shownOfId)) : title;

/** Whether a device holds the right to write now. */
export const isWriting = ({ lease }: SessionRecord): boolean =>
  lease !== undefined && Date.parse(lease.expires_at) > now();
