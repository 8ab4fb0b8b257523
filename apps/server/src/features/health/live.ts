import { contract } from '@svc/contract';
import { Answer, operation, type Operation } from '../../kernel/feature.ts';
import { version } from '../../kernel/base/version.ts';

/** Names the process that answers: commands on its machine tell by it whose platform they found. */
export const instanceHeader = 'x-svc-instance';

/** Liveness: names the features mounted, asks nobody. */
export const live = (features: () => string[]): Operation =>
  operation(contract.health.live, ({ kernel }) =>
    Promise.resolve(
      new Answer({ ok: true, features: features(), version }, { headers: { [instanceHeader]: kernel.gateways.id } }),
    ),
  );
