/// <reference lib="webworker" />
import { allowedPath, isAllowedAction } from '@svc/contract/actions';
import { arrivalOf, noteOf, type PushMessage, statusOf, withdrawnBy } from './push.note.rules.ts';
import { dropAct, keepAct, type WaitingAct, waitingActs } from './sw.acts.ts';
import { dropUpload, keepFile, keepUpload, mostSharedBytes, sharedId, waitingUploads } from './uploads.store.ts';
import { wordsOfNotes } from './words/notes.ts';

declare const self: ServiceWorkerGlobalScope;

const cacheName = `svc-hub-${HUB_BUILD}`;
const scope = new URL(self.registration.scope).pathname;
const assets = HUB_SHELL.map((name) => `${scope}assets/${name}`);
/** Answered by the server alone: signing in, documents in frames, and what browsers fetch by themselves. */
const untouched = /^(?:login|callback|frame|sw\.js|manifest\.webmanifest|t\/)/;

/** Chromium alone takes rules; by them it reads the kept files itself, without asking the worker for each. */
type Routing = Event & { addRoutes?: (rules: readonly object[]) => Promise<void> };

self.addEventListener('install', (event) => {
  const kept = assets.map((pathname) => ({ urlPattern: { pathname } }));
  const routed = (event as Routing).addRoutes?.([{ condition: { or: kept }, source: { cacheName } }]);
  event.waitUntil(Promise.resolve(routed).catch(() => {}));
  event.waitUntil(caches.open(cacheName).then(async (cache) => cache.addAll([scope, ...assets])));
});

self.addEventListener('activate', (event) => {
  event.waitUntil(
    (async () => {
      const names = await caches.keys();
      const old = names.filter((name) => name.startsWith('svc-hub-') && name !== cacheName);
      // The build before stays for tabs that still run it.
      await Promise.all(old.slice(0, -1).map(async (name) => caches.delete(name)));
      await self.clients.claim();
    })(),
  );
});

self.addEventListener('message', (event) => {
  if (event.data === 'take over') void self.skipWaiting();
  if (event.data === 'send') event.waitUntil(Promise.all([sendWaiting(), waitingUploads(Date.now())]));
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== self.location.origin || !url.pathname.startsWith(scope)) return;
  const rest = url.pathname.slice(scope.length);
  if (request.method === 'POST' && rest === 'share') return event.respondWith(takeShared(request));
  if (request.method !== 'GET') return;
  if (untouched.test(rest)) return;
  if (request.mode === 'navigate') event.respondWith(shell(request));
  else if (rest.startsWith('assets/')) event.respondWith(asset(request));
});

/** Keeps the file that the system's share menu sends; the page asks whether it is uploaded. */
async function takeShared(request: Request): Promise<Response> {
  const state = await keepShared(request).catch(() => 'none');
  return Response.redirect(`${scope}transcripts?shared=${state}`, 303);
}

/**
 * What the share menu of a system sends has no page behind it. A form of another site may hide its own, so a press
 * is asked for too.
 */
const isOfAnotherSite = ({ referrer }: Request): boolean =>
  /^https?:/.test(referrer) && new URL(referrer).origin !== self.location.origin;
/** Characters of a file's name. */
const mostName = 200;

async function keepShared(request: Request): Promise<'1' | 'large' | 'none'> {
  if (isOfAnotherSite(request)) return 'none';
  const file = (await request.formData()).get('file');
  if (!(file instanceof File)) return 'none';
  // One file at a time: a newer one takes its place.
  await dropUpload(sharedId);
  if (file.size > mostSharedBytes) return 'large';
  const { size: bytes, lastModified } = file;
  const name = file.name.slice(0, mostName);
  await keepFile(sharedId, file);
  const terms = { title: '', language: '', folderId: '', consent: '', mark: '' };
  await keepUpload({ ...terms, id: sharedId, name, bytes, lastModified, at: Date.now(), isPaused: true });
  return '1';
}

/** The page as kept, with its headers; another build or other settings are another worker, which keeps it anew. */
/**
 * At a number of this machine the platform may send browsers on to `localhost`: a page that was kept would never hear
 * of it.
 */
const isByNumber = ['127.0.0.1', '[::1]'].includes(self.location.hostname);

async function shell(request: Request): Promise<Response> {
  const answer = isByNumber ? await fetch(request).catch(() => undefined) : undefined;
  return answer ?? (await caches.match(scope, { cacheName })) ?? (await fetch(request));
}

async function asset(request: Request): Promise<Response> {
  const kept = await caches.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) await (await caches.open(cacheName)).put(request, answer.clone());
  return answer;
}

/** Each push shows something, unless a page of ours is seen: a silent one costs the permission. */
self.addEventListener('push', (event) => {
  let message: PushMessage = {};
  try {
    const said: unknown = event.data?.json();
    if (typeof said === 'object' && said !== null) message = said;
  } catch {
    // Shown as one without contents.
  }
  event.waitUntil(show(message).then(() => Promise.all([sayArrived(message), sendWaiting()])));
});

const mostArrivalMs = 10_000;

/** Tells the server that a push came, once. Offline or signed out nobody hears of it: the push was shown all the same. */
async function sayArrived(message: PushMessage): Promise<void> {
  const { path, body } = arrivalOf(message) ?? {};
  if (path === undefined) return;
  const headers = { 'x-svc-hub': '1', 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(mostArrivalMs);
  await fetch(path, { method: 'POST', credentials: 'same-origin', headers, body: body ?? '', signal }).catch(() => {});
}

/**
 * Shows a push. One that withdraws another closes that one where a page is in view, else it takes its place in
 * silence: a push that shows nothing costs the permission.
 */
async function show(message: PushMessage): Promise<void> {
  const tag = withdrawnBy(message);
  const pages = tag === undefined ? [] : await self.clients.matchAll({ type: 'window' });
  if (pages.some(({ visibilityState }) => visibilityState === 'visible')) {
    for (const note of await self.registration.getNotifications({ tag: tag ?? '' })) note.close();
    return;
  }
  const { title, options } = noteOf(message, words());
  await self.registration.showNotification(title, options);
}

self.addEventListener('notificationclick', (event) => {
  const { notification, action } = event;
  const { actions = [], navigate } = (notification.data ?? {}) as { actions?: unknown[]; navigate?: string };
  const wanted = action === '' ? undefined : actions.find((one) => (one as { id?: unknown }).id === action);
  if (wanted !== undefined && isAllowedAction(wanted)) event.waitUntil(act(notification, wanted as Wanted, navigate));
  else {
    notification.close();
    event.waitUntil(open(navigate));
  }
});

interface Wanted {
  id: string;
  method: string;
  path: string;
  body?: object;
}

/** Does what a button says, once: its key is that of the notification, so a second press does nothing twice. */
async function act(
  note: Notification,
  { id, method, path, body }: Wanted,
  navigate: string | undefined,
): Promise<void> {
  const { title, tag } = note;
  const key = `${(note.data as { id?: string }).id ?? tag}-${id}`;
  const waiting: WaitingAct = { key, title, tag, method, path, ...(body && { body }), at: Date.now() };
  const status = await send(waiting).catch(() => undefined);
  if (status === undefined || isBusy(status)) {
    await keepAct(waiting);
    await say(waiting, words().stored);
    await syncOf(self.registration)
      ?.register(syncTag)
      .catch(() => {});
  } else if (!(await tell(waiting, status))) {
    // Signed out, or a fresh proof is wanted: the page asks for it.
    note.close();
    await open(navigate);
  }
}

const syncTag = 'svc-acts';
/** Chromium alone tells a worker that the network is back; elsewhere the next push or page does. */
const syncOf = (registration: ServiceWorkerRegistration): { register(tag: string): Promise<void> } | undefined =>
  (registration as { sync?: { register(tag: string): Promise<void> } }).sync;
const words = () => wordsOfNotes(self.navigator.language);

self.addEventListener('sync' as 'push', (event) => event.waitUntil(sendWaiting()));

/** Sends what was pressed without a network, and says what came of it. */
async function sendWaiting(): Promise<void> {
  for (const waiting of await waitingActs(Date.now())) {
    const status = await send(waiting).catch(() => undefined);
    // Signed out, or a server that is busy: it is sent another time.
    if (status === undefined || status === 401 || isBusy(status)) return;
    await dropAct(waiting.key);
    if (!(await tell(waiting, status))) await say(waiting, words().refused);
  }
}

/** Nothing was done, and it may be another time: too many requests, or a server that cannot now. */
const isBusy = (status: number): boolean => status === 429 || status >= 500;

async function send({ key, method, path, body }: WaitingAct): Promise<number> {
  const answer = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: { 'x-svc-hub': '1', 'content-type': 'application/json', 'idempotency-key': key },
    ...(body && { body: JSON.stringify(body) }),
  });
  return statusOf(answer.status, await answer.json().catch(() => undefined));
}

/** Says in the notification what the server answered; false when only the page can go on. */
async function tell(waiting: WaitingAct, status: number): Promise<boolean> {
  if (status < 300) await say(waiting, words().done);
  else if (status === 409 || status === 404) await say(waiting, words().decided);
  else if (status === 422) await say(waiting, words().refused);
  else return false;
  return true;
}

async function say({ title, tag }: WaitingAct, body: string): Promise<void> {
  await self.registration.showNotification(title, { body, tag, silent: true });
}

async function open(navigate: string | undefined): Promise<void> {
  const url = new URL(navigate ?? scope, new URL(scope, self.location.origin));
  const isOurs = url.origin === self.location.origin && url.pathname.startsWith(scope);
  const to = isOurs ? url.href : new URL(scope, self.location.origin).href;
  const windows = await self.clients.matchAll({ type: 'window' });
  const here = windows.find((one) => allowedPath(new URL(one.url).pathname, url.pathname)) ?? windows[0];
  if (here) {
    await here.focus();
    if (here.url !== to) await here.navigate(to);
  } else await self.clients.openWindow(to);
}
