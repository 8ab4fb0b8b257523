import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { createBackoff } from '../../backoff.ts';
import { onRefusal } from '../../relay-refusal.ts';
import type { RelayAccess } from './gateway.ts';

/** A connection that is asked of a relay. */
export interface Attachment {
  relay: RelayAccess;
  environmentId: string;
  /** Groups the connections of this process. */
  clientId: string;
  query: Readonly<Record<string, string>>;
  /** Ends it, and attempts to open it. */
  signal: AbortSignal;
}

/** The relay did not open a connection; `status` is 0 when it did not answer at all. */
export class NotAttached extends Error {
  override name = 'NotAttached';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const openMs = 15_000;
/** A daemon that comes back, or a relay that is started anew, has so long before a connection is given up. */
const patienceMs = 15_000;
const retryMs = [200, 2_000] as const;
/** As much as a relay sends in one message. */
const mostMessageBytes = 1024 * 1024;
const pingEveryMs = 15_000;

/** Asks a relay for a connection. It is paused: who has its handlers in place resumes it. Throws `NotAttached`. */
async function attachOnce({ relay, environmentId, clientId, query, signal }: Attachment): Promise<WebSocket> {
  signal.throwIfAborted();
  const url = `${relay.url}/v1/environments/${environmentId}/attach?${new URLSearchParams(query).toString()}`;
  const socket = new WebSocket(url.replace(/^http/, 'ws'), {
    headers: { ...relay.headers, 'x-svc-client': clientId },
    perMessageDeflate: false,
    maxPayload: mostMessageBytes,
    handshakeTimeout: openMs,
  });
  const stop = (): void => socket.terminate();
  signal.addEventListener('abort', stop, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', stop));
  await opened(socket, relay);
  return socket;
}

/**
 * The same, again and again while the daemon or its relay is away, for 15 s. A relay admits 64 streams of a client at a time: one
 * that has no place (429) waits for it as long as it takes, since one of the others ends some time.
 */
export async function attach(attachment: Attachment, onWait: (reason: string) => void): Promise<WebSocket> {
  const backoff = createBackoff(...retryMs);
  let until = performance.now() + patienceMs;
  for (;;) {
    try {
      return await attachOnce(attachment);
    } catch (error) {
      attachment.signal.throwIfAborted();
      if (!(error instanceof NotAttached) || !isPassing(error)) throw error;
      const waitMs = backoff.next();
      if (error.status === 429) until = performance.now() + patienceMs;
      // The system says it in other words each time.
      else onWait(`${error.status === 0 ? 'the relay cannot be reached' : error.message}; trying again`);
      if (performance.now() + waitMs > until) throw error;
      await sleep(waitMs, undefined, { signal: attachment.signal });
    }
  }
}

/** Whether another attempt may find it otherwise. That nothing listens on a port is an answer of the machine. */
const isPassing = ({ status, code }: NotAttached): boolean =>
  status === 0 || status === 429 || code === 'daemon_offline' || (status >= 500 && code !== 'upstream_error');

/** Whether the caller may not, or asks for what is not there: no later attempt is answered otherwise. */
export const isRefused = ({ status, code }: NotAttached): boolean =>
  status >= 400 && status < 500 && status !== 429 && code !== 'daemon_offline';

function opened(socket: WebSocket, { advice }: Pick<RelayAccess, 'advice'>): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      // Its first message may come before the next turn.
      socket.pause();
      resolve();
    });
    // An error once it is open is followed by its `close`.
    socket.on('error', (error) => reject(new NotAttached(0, 'connection_error', `no connection: ${error.message}`)));
    socket.once('close', () => reject(new NotAttached(0, 'connection_error', 'the relay closed the connection')));
    onRefusal(socket, ({ status, code, message }) => {
      const words = code === undefined ? `the relay answered ${status}` : `${status} ${code}: ${message}`;
      const end = status === 401 && advice !== undefined ? `; ${advice}` : '';
      reject(new NotAttached(status, code ?? 'unknown', words + end));
    });
  });
}

/** Pings a relay, and ends a connection from which nothing comes. Time in which nobody reads here does not count. */
export function keepAlive(socket: WebSocket): void {
  let unanswered = 0;
  const heard = (): void => void (unanswered = 0);
  socket.on('pong', heard).on('ping', heard).on('message', heard);
  const pinging = setInterval(() => {
    if (socket.isPaused) unanswered = 0;
    if (unanswered === 2) return socket.terminate();
    unanswered += 1;
    if (socket.readyState === socket.OPEN) socket.ping();
  }, pingEveryMs);
  socket.once('close', () => clearInterval(pinging));
}
