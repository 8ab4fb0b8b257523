/// <reference lib="webworker" />
declare const self: ServiceWorkerGlobalScope;

const cacheName = `svc-hub-${HUB_BUILD}`;
const scope = new URL(self.registration.scope).pathname;
const assets = HUB_SHELL.map((name) => `${scope}assets/${name}`);
/** Answered by the server alone: signing in, documents in frames, and what browsers fetch by themselves. */
const untouched = /^(?:login|callback|frame|sw\.js|manifest\.webmanifest|setup|push|t\/)/;

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches.open(cacheName).then(async (cache) => {
      await cache.addAll([scope, ...assets]);
    }),
  );
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
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== self.location.origin || !url.pathname.startsWith(scope)) return;
  const rest = url.pathname.slice(scope.length);
  if (untouched.test(rest)) return;
  if (request.mode === 'navigate') event.respondWith(shell(request));
  else if (rest.startsWith('assets/')) event.respondWith(asset(request));
});

/** The page from the network, which says what its headers are today; from the cache when there is none. */
async function shell(request: Request): Promise<Response> {
  const kept = await caches.match(scope, { cacheName });
  if (kept) return kept;
  return fetch(request);
}

async function asset(request: Request): Promise<Response> {
  const kept = await caches.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) await (await caches.open(cacheName)).put(request, answer.clone());
  return answer;
}
