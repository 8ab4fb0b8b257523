import type { Db } from '../db/db.ts';
import type { Kernel } from '../kernel.ts';
import type { EventStream } from '../http/sse.ts';

/** The open streams of this gateway by account, and messages to those of all gateways. */
export interface Broadcast<M> {
  /** Sends a message to every gateway, this one included, once `db` is committed. */
  publish(db: Db, message: M): Promise<void>;
  /** Adds a stream of the account until it ends. */
  follow(accountId: string, stream: EventStream): void;
  /** Whether a stream of the account is open here. */
  isFollowed(accountId: string): boolean;
  /** Writes a frame to the account's streams here. */
  send(accountId: string, event: string, data: object): void;
  /** Starts to listen; `deliver` is called with each message. Streams end when messages may have been missed. */
  start(deliver: (message: M) => void | Promise<void>): Promise<void>;
}

/**
 * Streams of one topic over all gateways. A message holds ids and wakes, at most 8,000 bytes of JSON. Rows stay the
 * truth: when messages may have been missed (a bus that was down, a gateway that died between its commit and its
 * message), the streams end, and clients come back and read the list.
 */
export function createBroadcast<M>({ bus, gateways }: Pick<Kernel, 'bus' | 'gateways'>, topic: string): Broadcast<M> {
  const streams = new Map<string, Set<EventStream>>();
  return {
    publish: (db, message) => bus.publish(db, topic, message),
    follow(accountId, stream) {
      const own = streams.get(accountId) ?? new Set();
      streams.set(accountId, own.add(stream));
      stream.onClose(() => {
        own.delete(stream);
        if (own.size === 0 && streams.get(accountId) === own) streams.delete(accountId);
      });
    },
    isFollowed: (accountId) => streams.has(accountId),
    send(accountId, event, data) {
      const own = streams.get(accountId);
      if (!own) return;
      const json = JSON.stringify(data);
      for (const stream of own) stream.sendText(event, json);
    },
    async start(deliver) {
      gateways.onLost(() => {
        for (const own of streams.values()) for (const stream of own) stream.end();
      });
      await bus.subscribe(topic, (message) => deliver(message as M));
    },
  };
}
