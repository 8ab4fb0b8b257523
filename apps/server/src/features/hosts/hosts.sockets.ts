import { readFile } from 'node:fs/promises';
import type { EventStream } from '../../kernel/streams/sse.ts';

/**
 * Bytes in each TCP socket's send queue: sent and not acknowledged, or not sent. Keyed by `local:remote` port. Linux
 * shows them; elsewhere the map is empty and only the lease tells that a peer is gone.
 */
type SendQueues = ReadonlyMap<string, number>;

/** Reads the queues of all sockets at once: 2,000 streams cost one read every 15 s. */
export async function readSendQueues(): Promise<SendQueues> {
  const queues = new Map<string, number>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const table = await readFile(file, 'latin1').catch(() => '');
    for (const line of table.split('\n').slice(1)) {
      // "  0: 0100007F:2253 0100007F:9C40 01 00000000:00000000 …": addresses, state, tx_queue:rx_queue, all hex.
      const match = /:\s[0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/.exec(line);
      if (!match) continue;
      const [, local = '', remote = '', queued = ''] = match;
      const id = `${Number.parseInt(local, 16)}:${Number.parseInt(remote, 16)}`;
      // Two peers may use the same port number; the emptier queue is the safe guess.
      queues.set(id, Math.min(queues.get(id) ?? Number.POSITIVE_INFINITY, Number.parseInt(queued, 16)));
    }
  }
  return queues;
}

/** Unacknowledged for this long: gone. More than a round trip and a retransmission anywhere on Earth. */
const stalledMs = 10_000;

/** Watches whether a stream's peer acknowledges what is written. */
export class PeerWatch {
  #acknowledged = -1;
  #stalledSince: number | undefined;

  /**
   * False when bytes wait in the send queue and none was acknowledged for 10 s: the peer is gone or cut off. A written
   * ping alone proves nothing, the kernel takes it either way. `now` is monotonic.
   */
  check(stream: EventStream, queues: SendQueues, now: number): boolean {
    const progress = stream.socketProgress();
    const queued = progress && queues.get(`${progress.localPort}:${progress.remotePort}`);
    if (!progress || queued === undefined) return true;
    const acknowledged = progress.written - queued;
    if (queued === 0 || acknowledged > this.#acknowledged) this.#stalledSince = undefined;
    else this.#stalledSince ??= now;
    this.#acknowledged = acknowledged;
    return this.#stalledSince === undefined || now - this.#stalledSince < stalledMs;
  }
}
