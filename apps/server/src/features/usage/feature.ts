import type { Feature } from '../../kernel/feature.ts';
import type { Quota } from '../../kernel/records/quotas.ts';
import { get } from './get.ts';
import { requests } from './requests.ts';

/** The quotas of an account and its requests; `quotas` are those of all features. */
export const usageFeature = (quotas: () => readonly Quota[]): Feature => ({
  name: 'usage',
  operations: { get: get(quotas), requests },
});
