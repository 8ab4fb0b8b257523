import { isDeepStrictEqual } from 'node:util';

/** How long a device may write without renewing (design: prompts). */
export const leaseSeconds = 30;
/** Further ones belong in another session: deleting one is a statement of a request. */
export const mostEvents = 100_000;
/** Controls that may wait for one device: a client that never acknowledges cannot fill more. */
export const mostWaiting = 200;
/** Controls that are kept of a session once they are acknowledged. */
export const mostControls = 1_000;
/** Bytes of a session count in whole blocks, so that most appends need no count and the quota still holds exactly. */
export const blockBytes = 16_384;

/** An event as a client gives it. */
export interface GivenEvent {
  type: 'turn_start' | 'delta' | 'turn_end' | 'message' | 'tool';
  turn_id: string;
  id?: string | undefined;
  role?: string | undefined;
  text?: string | undefined;
  data?: Record<string, unknown> | undefined;
}

/** An event as it is stored. */
export interface StoredEvent {
  seq: number;
  type: GivenEvent['type'];
  turn_id: string;
  event_id: string | null;
  role: string | null;
  text: string | null;
  data: Record<string, unknown> | null;
  device_id: string;
  at: string;
}

/** Whether an event is once in a session: begin and end of a turn are, and what has an id. */
export const isUnique = ({ type }: Pick<GivenEvent, 'type'>): boolean => type === 'turn_start' || type === 'turn_end';

/** The fields that identify an event when it is sent again. */
type Named = { type: StoredEvent['type']; turn_id: string; id?: string | null | undefined };

/** The names under which an event is the same when it is sent again. */
function namesOf({ type, turn_id, id }: Named): string[] {
  return [...(isUnique({ type }) ? [`turn ${type} ${turn_id}`] : []), ...(typeof id === 'string' ? [`id ${id}`] : [])];
}

/** An id that two different events share; undefined when all differ. */
function clashOf(events: readonly Named[]): string | undefined {
  const owners = new Map<string, Named>();
  for (const event of events) {
    if (typeof event.id !== 'string') continue;
    const owner = owners.get(event.id);
    if (owner && (owner.type !== event.type || owner.turn_id !== event.turn_id)) return event.id;
    owners.set(event.id, event);
  }
  return undefined;
}

/** The decision on a batch. */
type Plan =
  /** These are new. */
  | { append: GivenEvent[] }
  /** All were stored before, the last one under this `seq`. */
  | { repeat: number }
  /** The log went on without the caller. */
  | { conflict: true }
  /** An event has the id of another one. */
  | { clash: string };

/** The input of a plan. */
interface Batch {
  /** Last event of the session. */
  seq: number;
  expected: number;
  deviceId: string;
  events: readonly GivenEvent[];
  /** Stored ones that have a name of the batch's. */
  known: readonly Pick<StoredEvent, 'seq' | 'type' | 'turn_id' | 'event_id'>[];
  /** Those behind `expected`, as many as the batch has. */
  behind: readonly StoredEvent[];
}

/**
 * Sorts out a batch: nothing that was acknowledged is stored twice, and nothing is put behind events that its writer has not
 * seen. A batch that is sent again after its answer was lost is found by the names of its events, or by what stands behind
 * `expected`.
 */
export function planAppend({ seq, expected, deviceId, events, known, behind }: Batch): Plan {
  const clash = clashOf([...known.map((event) => ({ ...event, id: event.event_id })), ...events]);
  if (clash !== undefined) return { clash };
  const seqByName = new Map(
    known.flatMap((event) => namesOf({ ...event, id: event.event_id }).map((name) => [name, event.seq] as const)),
  );
  const seen = new Set<string>();
  const fresh: GivenEvent[] = [];
  /** Fresh ones, and those that stand behind `expected`: what the first sending of this batch would have stored. */
  const stored: GivenEvent[] = [];
  let last = 0;
  for (const event of events) {
    const names = namesOf(event);
    if (names.some((name) => seen.has(name))) continue;
    for (const name of names) seen.add(name);
    const at = names.map((name) => seqByName.get(name)).find((found) => found !== undefined);
    if (at === undefined) fresh.push(event);
    if (at === undefined || at > expected) stored.push(event);
    last = Math.max(last, at ?? 0);
  }
  if (fresh.length === 0) return { repeat: last };
  if (expected === seq) return { append: fresh };
  const sent = behind.slice(0, stored.length);
  const isRepeat = sent.length === stored.length && sent.every((event, i) => isSame(event, stored[i], deviceId));
  return isRepeat ? { repeat: expected + stored.length } : { conflict: true };
}

function isSame(stored: StoredEvent, given: GivenEvent | undefined, deviceId: string): boolean {
  return (
    given !== undefined &&
    stored.device_id === deviceId &&
    stored.type === given.type &&
    stored.turn_id === given.turn_id &&
    stored.event_id === (given.id ?? null) &&
    stored.role === (given.role ?? null) &&
    stored.text === (given.text ?? null) &&
    isDeepStrictEqual(stored.data, given.data ?? null)
  );
}

/** Approximate bytes of a row besides its texts. */
const rowBytes = 200;

/** Approximate bytes of a control. */
export const bytesOfControl = (text: string | undefined): number => rowBytes + Buffer.byteLength(text ?? '');

/** Approximate bytes of an event: its text, and its row. */
export const bytesOf = ({ text = '', data, turn_id, id = '', role = '' }: GivenEvent): number =>
  rowBytes +
  Buffer.byteLength(text + turn_id + id + role) +
  (data === undefined ? 0 : Buffer.byteLength(JSON.stringify(data)));
