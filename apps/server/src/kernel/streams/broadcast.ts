import type { Db } from '../db/db.ts';
import type { Clock } from '../base/clock.ts';
import type { Bus } from '../peers/bus.ts';
import type { Gateways } from '../peers/gateways.ts';
import type { EventStream } from './sse.ts';

/** The open streams of this gateway by account, and messages to those of all gateways. */
export interface Broadcast<M> {
  /** Sends a message to every gateway, this one included, once `db` is committed. */
  publish(db: Db, message: M): Promise<void>;
  /** The same for what is committed already, without waiting until it is sent. */
  post(message: M): void;
  /** Adds a stream of the account until it ends. */
  follow(accountId: string, stream: EventStream): void;
  /** Ends the account's streams here: a frame of theirs was lost. */
  end(accountId: string): void;
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
export function createBroadcast<M>(
  { bus, gateways, clock }: { bus: Bus; gateways: Gateways; clock: Clock },
  topic: string,
): Broadcast<M> {
  /** By account; each with the instant since which it follows. */
  const streams = new Map<string, Map<EventStream, number>>();
  return {
    publish: (db, message) => bus.publish(db, topic, message),
    post: (message) => bus.post(topic, message),
    follow(accountId, stream) {
      const own = streams.get(accountId) ?? new Map<EventStream, number>();
      streams.set(accountId, own.set(stream, clock.monotonic()));
      stream.onClose(() => {
        own.delete(stream);
        if (own.size === 0 && streams.get(accountId) === own) streams.delete(accountId);
      });
    },
    end(accountId) {
      for (const stream of streams.get(accountId)?.keys() ?? []) stream.end();
    },
    isFollowed: (accountId) => streams.has(accountId),
    send(accountId, event, data) {
      const own = streams.get(accountId);
      if (!own) return;
      const json = JSON.stringify(data);
      for (const stream of own.keys()) stream.sendText(event, json);
    },
    async start(deliver) {
      gateways.onLost((before) => {
        for (const own of streams.values()) for (const [stream, since] of own) if (since <= before) stream.end();
      });
      await bus.subscribe(topic, (message) => deliver(message as M));
    },
  };
}
