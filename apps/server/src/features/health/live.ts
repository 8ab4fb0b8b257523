import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';

/** Liveness: names the features mounted, asks nobody. */
export const live = (features: () => string[]): Operation =>
  operation(contract.health.live, () => Promise.resolve({ ok: true, features: features() }));
