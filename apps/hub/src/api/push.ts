import { api } from './client.ts';
import { offerOf, type PushState } from './push.rules.ts';

const facts = (): Parameters<typeof offerOf>[0] => ({
  userAgent: navigator.userAgent,
  touchPoints: navigator.maxTouchPoints,
  isStandalone: matchMedia('(display-mode: standalone)').matches,
  hasPush: 'serviceWorker' in navigator && 'PushManager' in globalThis,
  permission: 'Notification' in globalThis ? Notification.permission : undefined,
});

/** How this device is told. Where it is told, its subscription is sent again: the server learns that it lives. */
export async function pushState(): Promise<PushState> {
  const offer = offerOf(facts());
  if (offer !== 'off' || Notification.permission !== 'granted') return offer;
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return 'off';
  await send(subscription).catch(() => {});
  return 'on';
}

/** Asks for the permission and subscribes. Throws when the browser's push service refuses. */
export async function enablePush(): Promise<PushState> {
  if ((await Notification.requestPermission()) !== 'granted') return 'denied';
  const registration = await navigator.serviceWorker.ready;
  const { public_key: key } = await api.notifications.vapidKey();
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await send(subscription);
  await api.notifications.sendTest({});
  return 'on';
}

async function send(subscription: PushSubscription): Promise<void> {
  const { endpoint, keys } = subscription.toJSON();
  if (endpoint === undefined || keys?.['p256dh'] === undefined || keys['auth'] === undefined) return;
  await api.notifications.subscribe({ body: { endpoint, keys: { p256dh: keys['p256dh'], auth: keys['auth'] } } });
}
