import type { contract, RouteEvent } from '@svc/contract';
import type { Client } from '@svc/sdk';
import type { ConnectionTiming } from '../connection.ts';

/** Something that another device asks this one for. */
export type Control = RouteEvent<typeof contract.sessions.stream>['data'];

/** Listens on one connection until it ends, is silent for too long, or `signal` aborts. */
export async function listenOnce({
  client,
  timing,
  signal,
  onOpen,
  onControl,
}: {
  client: Client;
  timing: ConnectionTiming;
  signal: AbortSignal;
  /** The gateway said its first word. */
  onOpen: () => void;
  onControl: (control: Control) => void;
}): Promise<void> {
  const attempt = new AbortController();
  const silence = setTimeout(() => attempt.abort(), timing.silenceMs);
  try {
    const onActivity = (): void => {
      onOpen();
      silence.refresh();
    };
    const call = { signal: AbortSignal.any([signal, attempt.signal]), onActivity };
    const frames = client.sessions.stream({}, call);
    for await (const { data } of frames) onControl(data);
  } finally {
    clearTimeout(silence);
  }
}
