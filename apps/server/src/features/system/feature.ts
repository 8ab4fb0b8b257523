import type { Feature } from '../../kernel/feature.ts';
import { get, type SystemParts } from './get.ts';
import { startOutageWatch } from './system.outage.ts';

/** How the installation does, for its operators. */
export const systemFeature = (parts: SystemParts): Feature => ({
  name: 'system',
  operations: { get: get(parts) },
  start(kernel, { serves, isCopy }) {
    const { gateways, metrics } = kernel;
    metrics.gauge('svc_workers', 'Processes whose tickers turned within 40 s', () => gateways.workers());
    metrics.gauge(
      'svc_worker_idle_seconds',
      'For how long no process of the platform has done what is due by the clock',
      () => (gateways.idleMs() ?? Number.NaN) / 1_000,
    );
    const watch = serves && isCopy !== true ? startOutageWatch(kernel) : undefined;
    return Promise.resolve({ drain: async () => watch?.stop() });
  },
});
