import { contract } from '@svc/contract';
import { Answer, operation, type Operation } from '../../kernel/feature.ts';
import { instanceHeader, version } from '../../kernel/base/version.ts';

/** Liveness: names the features mounted, asks nobody. */
export const live = (features: () => string[]): Operation =>
  operation(contract.health.live, ({ kernel }) =>
    Promise.resolve(
      new Answer({ ok: true, features: features(), version }, { headers: { [instanceHeader]: kernel.gateways.id } }),
    ),
  );
