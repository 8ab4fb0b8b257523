import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { aliases } from './health.rules.ts';
import { providersNow } from './health.providers.ts';

export const status = operation(contract.health.status, async ({ kernel }) => {
  const providers = await providersNow(kernel);
  return {
    ok: providers !== undefined,
    aliases,
    providers: providers ?? [],
    ...(providers?.length === 0 && { message: 'no model provider is set up; add one with: ./svc providers add' }),
  };
});
