import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { NameOwner } from './owners.ts';

/** A body, and anything else, that brings nothing for this long is ended. */
const bodyIdleMs = 60_000;
const idleMs = 15 * 60_000;

/** A connection from outside that was let through. */
export interface Passage {
  readonly owner: NameOwner;
  /** Of its target. */
  readonly id: string;
  readonly client: Socket;
  readonly inside: Duplex;
  readonly isUploading: () => boolean;
  /** Bytes that went through, and the time of the last one. */
  bytes: number;
  since: number;
}

/** Ends both sides. */
export function end({ client, inside }: Passage): void {
  inside.destroy();
  client.destroy();
}

/** Whether nothing went through for too long. */
export function isIdle(passage: Passage, now: number): boolean {
  const { client, isUploading } = passage;
  const bytes = client.bytesRead + client.bytesWritten;
  if (bytes !== passage.bytes) Object.assign(passage, { bytes, since: now });
  return now - passage.since >= (isUploading() ? bodyIdleMs : idleMs);
}
