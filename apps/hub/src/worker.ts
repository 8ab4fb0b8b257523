import { hubPath } from './api/client.ts';

interface ScriptPolicy {
  createScriptURL(url: string): string;
}
type Policies = { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy } | undefined;

/** Told once a new build waits: with it, how to change to it now. */
const whenReady = new Set<(change: () => void) => void>();
let ready: (() => void) | undefined;

/** Calls `hear` once a new build waits, with what changes to it; answers how to stop. */
export function whenNewBuild(hear: (change: () => void) => void): () => void {
  if (ready) hear(ready);
  whenReady.add(hear);
  return () => whenReady.delete(hear);
}

/** Tells of a build that is installed beside the one that this page runs. */
function tellOf({ waiting }: ServiceWorkerRegistration): void {
  // The first one ever has nothing before it.
  if (!waiting || !navigator.serviceWorker.controller) return;
  ready = () => {
    navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true });
    waiting.postMessage('take over');
  };
  for (const hear of whenReady) hear(ready);
}

/** Registers the service worker; without one the hub works, but needs a network. */
export async function startWorker(): Promise<void> {
  if (!('serviceWorker' in navigator)) return;
  const registration = await register().catch(() => undefined);
  if (!registration) return;
  const wake = (): void => registration.active?.postMessage('send');
  wake();
  addEventListener('online', wake);
  tellOf(registration);
  registration.addEventListener('updatefound', () => {
    registration.installing?.addEventListener('statechange', () => tellOf(registration));
  });
  // A new build waits until nobody looks at the old one.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') registration.waiting?.postMessage('take over');
    else void registration.update().catch(() => {});
  });
}

/** Rejects where the browser keeps no workers: some throw at once. */
async function register(): Promise<ServiceWorkerRegistration> {
  const policies = (globalThis as unknown as { trustedTypes?: Policies }).trustedTypes;
  const url = `${hubPath}/sw.js`;
  const trusted = policies?.createPolicy('svc-worker', { createScriptURL: () => url }).createScriptURL(url) ?? url;
  return await navigator.serviceWorker.register(trusted, { scope: `${hubPath}/` });
}
