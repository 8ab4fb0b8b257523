import { connect } from '@nats-io/transport-node';
import { type Bus, type BusHandler, Subscriptions } from './bus.ts';
import { onCommit } from '../db/db.ts';
import type { Log } from '../base/log.ts';

const subjectPrefix = 'svc.';

/** The bus over NATS core (setting `SVC_NATS_URL`): published after the commit, so a rolled-back change is never heard of. */
export async function openNatsBus(url: string, log: Log): Promise<Bus> {
  const { username, password, host, protocol } = new URL(url);
  const connection = await connect({
    servers: `${protocol}//${host}`,
    ...(username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    name: 'svc',
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    // Two missed pings of 2 s: a half-open connection is known to be down within 6 s.
    pingInterval: 2_000,
    maxPingOut: 2,
  });
  const subscriptions = new Subscriptions(log);
  const restored: (() => void)[] = [];
  let up = true;
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') up = false;
      if (status.type === 'reconnect') {
        for (const handler of restored) handler();
        up = true;
      }
    }
  })();
  return {
    post: (topic, payload) => connection.publish(subjectPrefix + topic, JSON.stringify(payload)),
    async publish(db, topic, payload) {
      const text = JSON.stringify(payload);
      await onCommit(db, () => connection.publish(subjectPrefix + topic, text));
    },
    async subscribe(topic: string, handler: BusHandler) {
      if (subscriptions.add(topic, handler)) {
        connection.subscribe(subjectPrefix + topic, {
          callback: (error, message) => {
            if (error) log.warn({ err: error, topic }, 'bus subscription failed');
            else void subscriptions.deliver(topic, message.string());
          },
        });
        if (up) await connection.flush();
      }
      return () => subscriptions.remove(topic, handler);
    },
    isUp: () => up && !connection.isClosed(),
    onRestored: (handler) => void restored.push(handler),
    async close() {
      if (up) await connection.drain();
      else await connection.close();
    },
  };
}
