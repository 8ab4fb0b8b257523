import { api } from './client.ts';
import { keepHere, keptHere } from './device.ts';
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

/**
 * Asks for the permission and subscribes; answers whether a test got through too, or may yet. Throws when the push service
 * of the browser refuses.
 */
export async function enablePush(): Promise<{ state: PushState; isTested: boolean }> {
  if ((await Notification.requestPermission()) !== 'granted') return { state: 'denied', isTested: false };
  const registration = await navigator.serviceWorker.ready;
  const { public_key: key } = await api.notifications.vapidKey();
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await send(subscription);
  // It is told from here on, whether the test goes out or not.
  const { targets } = await api.notifications.sendTest({}).catch(() => ({ targets: [] }));
  return {
    state: 'on',
    isTested: targets.some(({ channel, sent, outcome }) => channel === 'push' && (sent || outcome === 'pending')),
  };
}

/** The subscription of this browser; undefined: it is not told. */
async function subscriptionHere(): Promise<PushSubscription | undefined> {
  if (!('serviceWorker' in navigator) || !('PushManager' in globalThis)) return undefined;
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ?? undefined;
}

/** The id of this browser's subscription; undefined: it is not told. */
export async function pushHere(): Promise<string | undefined> {
  const subscription = await subscriptionHere();
  return subscription && (await send(subscription));
}

const hiddenName = 'svc-push-hidden';
/** Whether this device's notifications were asked to hide what they tell. The API keeps it, and does not answer it. */
export const hidesHere = (): boolean => keptHere(hiddenName) === '1';

/** Hides what notifications of this device tell, or shows it again; false where it is not told any more. */
export async function hideHere(isHidden: boolean): Promise<boolean> {
  const subscription = await subscriptionHere();
  if (!subscription) return false;
  await send(subscription, isHidden);
  keepHere(hiddenName, isHidden ? '1' : '0');
  return true;
}

/** Takes a notification off this device's screen, or all. */
export async function closeNotes(id?: string): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  for (const note of (await registration?.getNotifications?.()) ?? [])
    if (id === undefined || (note.data as { id?: unknown } | null)?.id === id) note.close();
}

/** Tells this browser no more. */
export async function stopPush(): Promise<true> {
  const subscription = await subscriptionHere();
  if (!subscription) return true;
  const { endpoint } = subscription;
  await api.notifications.unsubscribe({ body: { endpoint } });
  await subscription.unsubscribe();
  keepHere(hiddenName, '0');
  return true;
}

/** How the list of devices calls this one, such as "Android" or "Windows". */
function deviceName(): string | undefined {
  const platform = (navigator as { userAgentData?: { platform?: string } }).userAgentData?.platform;
  const found = /iPhone|iPad|Android|Macintosh|Windows|Linux/.exec(navigator.userAgent)?.[0];
  return platform === undefined || platform === '' ? found : platform;
}

async function send(subscription: PushSubscription, isHidden?: boolean): Promise<string | undefined> {
  const { endpoint, keys } = subscription.toJSON();
  if (endpoint === undefined || keys?.['p256dh'] === undefined || keys['auth'] === undefined) return undefined;
  const name = deviceName();
  const sent = await api.notifications.subscribe({
    body: {
      endpoint,
      keys: { p256dh: keys['p256dh'], auth: keys['auth'] },
      ...(name !== undefined && { device_name: name }),
      ...(isHidden !== undefined && { hide_contents: isHidden }),
    },
  });
  return sent.subscription.id;
}
