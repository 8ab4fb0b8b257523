import { countDue, oldestDue } from './notifications.held.sql.ts';
import { gaugeOfRows } from '../../kernel/db/counted.ts';
import { contract } from '@svc/contract';
import { notificationsManifest } from './index.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Feature } from '../../kernel/feature.ts';
import { createWebhook } from './createWebhook.ts';
import { get } from './get.ts';
import { getPreferences } from './getPreferences.ts';
import { getWebhook } from './getWebhook.ts';
import { list } from './list.ts';
import { listSubscriptions } from './listSubscriptions.ts';
import { listWebhooks } from './listWebhooks.ts';
import { sweepNotifications } from './notifications.jobs.ts';
import { dueTopic } from './notifications.notify.ts';
import { OutcomeWaits } from './notifications.outcomes.ts';
import { Outbox } from './notifications.outbox.ts';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import { dropUntold } from './push/subscriptions.sql.ts';
import { createVapid } from './notifications.push.ts';
import { pushDelivered } from './pushDelivered.ts';
import { readAll } from './readAll.ts';
import { removeWebhook } from './removeWebhook.ts';
import { rotateWebhookSecret } from './rotateWebhookSecret.ts';
import { sendTest } from './sendTest.ts';
import { setPreferences } from './setPreferences.ts';
import { stream } from './stream.ts';
import { subscribe } from './subscribe.ts';
import { testWebhook } from './testWebhook.ts';
import { removeSubscription } from './removeSubscription.ts';
import { unsubscribe } from './unsubscribe.ts';
import { update } from './update.ts';
import { updateWebhook } from './updateWebhook.ts';
import { vapidKey } from './vapidKey.ts';
import { webhookDeliveries } from './webhookDeliveries.ts';
import { notificationsOverview } from './notifications.summary.ts';
import { notificationsChangesLeft, notificationsTakeBack, notificationsUndo } from './notifications.taken-back.ts';

/** The inbox of an account, and its ways to a person: streams, browsers, webhooks, e-mail. */
export function notificationsFeature(kernel: Kernel): Feature {
  const vapid = createVapid(kernel);
  const outbox = new Outbox(kernel, vapid);
  const waits = new OutcomeWaits(kernel);
  return {
    ...notificationsManifest,
    operations: {
      list,
      get,
      update,
      readAll,
      sendTest: sendTest(waits),
      stream,
      getPreferences,
      setPreferences,
      vapidKey: vapidKey(vapid),
      listSubscriptions,
      subscribe,
      unsubscribe,
      removeSubscription,
      pushDelivered,
      listWebhooks,
      createWebhook,
      getWebhook,
      updateWebhook,
      removeWebhook,
      rotateWebhookSecret,
      testWebhook,
      webhookDeliveries,
    },
    jobs: [sweepNotifications],
    overview: notificationsOverview,
    takesBack: notificationsTakeBack(kernel),
    undoes: notificationsUndo(kernel),
    changesLeft: notificationsChangesLeft,
    topic: contract.notifications.list,
    async start(_kernel, { works, serves, isCopy }) {
      if (works) {
        outbox.start();
        const help = 'Deliveries of notifications that are due and not out';
        gaugeOfRows(kernel, { name: 'svc_deliveries_due', help, label: 'channel' }, countDue);
        kernel.metrics.gauge('svc_delivery_lag_seconds', 'For how long the oldest delivery has been due', () =>
          oldestDue(kernel.background).catch(() => Number.NaN),
        );
      }
      // Else nobody would be told that there is no worker.
      else if (serves && isCopy !== true) outbox.start(() => kernel.gateways.isIdle() === true);
      if (serves) await waits.start();
      kernel.gateways.onLost(() => outbox.wake());
      await kernel.bus.subscribe(dueTopic, () => outbox.wake());
      // Nobody is told by the row of an ended login; it goes now, since that of the login may soon be deleted.
      await kernel.gateways.onAnnounce(credentialsChanged, (payload) => {
        const whose = payload as CredentialChange;
        if (whose)
          dropUntold(kernel.sql, whose.accountId).catch((err: unknown) =>
            kernel.log.warn({ err }, 'browsers that were signed out are forgotten at night'),
          );
      });
      return { stop: () => outbox.stop() };
    },
  };
}
