import { hubPath } from './api/client.ts';

interface ScriptPolicy {
  createScriptURL(url: string): string;
}
type Policies = { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy } | undefined;

/** Registers the service worker; without one the hub works, but needs a network. */
export function startWorker(): void {
  if (!('serviceWorker' in navigator)) return;
  const policies = (globalThis as unknown as { trustedTypes?: Policies }).trustedTypes;
  const url = `${hubPath}/sw.js`;
  const trusted = policies?.createPolicy('svc-worker', { createScriptURL: () => url }).createScriptURL(url) ?? url;
  navigator.serviceWorker.register(trusted, { scope: `${hubPath}/` }).then(
    (registration) => {
      const wake = (): void => registration.active?.postMessage('send');
      wake();
      addEventListener('online', wake);
      // A new build waits until nobody looks at the old one.
      document.addEventListener('visibilitychange', () => {
        if (document.visibilityState === 'hidden') registration.waiting?.postMessage('take over');
        else void registration.update().catch(() => {});
      });
    },
    () => {},
  );
}
