import type { Feature } from '../../kernel/feature.ts';
import { probeProviders } from './health.jobs.ts';
import { live } from './live.ts';
import { ready } from './ready.ts';
import { status } from './status.ts';

/** Health probes at the root; `features` names what is mounted. */
export function healthFeature(features: () => string[]): Feature {
  return { name: 'health', operations: { live: live(features), ready, status }, jobs: [probeProviders] };
}
