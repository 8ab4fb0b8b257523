import type { Kernel } from '../../kernel/kernel.ts';
import type { Feature } from '../../kernel/feature.ts';
import { list } from './list.ts';
import { Broadcast } from './notifications.broadcast.ts';
import { sweepNotifications } from './notifications.jobs.ts';
import { type Change, changed } from './notifications.notify.ts';
import { Outbox } from './notifications.outbox.ts';
import { createVapid } from './notifications.vapid.ts';
import { readAll } from './readAll.ts';
import { stream } from './stream.ts';
import { subscribe } from './subscribe.ts';
import { unsubscribe } from './unsubscribe.ts';
import { update } from './update.ts';
import { vapidKey } from './vapidKey.ts';

/** The inbox of an account, and its ways to a person: streams, browsers, e-mail. */
export function notificationsFeature(kernel: Kernel): Feature {
  const vapid = createVapid(kernel);
  const broadcast = new Broadcast(kernel);
  const outbox = new Outbox(kernel, vapid);
  return {
    name: 'notifications',
    operations: {
      list,
      update,
      readAll,
      stream: stream(broadcast),
      vapidKey: vapidKey(vapid),
      subscribe,
      unsubscribe,
    },
    jobs: [sweepNotifications],
    async start() {
      kernel.bus.onRestored(() => {
        broadcast.endAll();
        outbox.wake();
      });
      await kernel.bus.subscribe(changed, (payload) => {
        const change = payload as Change;
        if (change.due) outbox.wake();
        return broadcast.tell(change);
      });
      outbox.start();
      return { stop: () => outbox.stop() };
    },
  };
}
