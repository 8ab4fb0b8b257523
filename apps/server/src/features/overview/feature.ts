import type { Feature } from '../../kernel/feature.ts';
import { find } from './find.ts';
import { get } from './get.ts';

/** The first page of an account; `features` are those of the platform. */
export const overviewFeature = (features: () => readonly Feature[]): Feature => ({
  name: 'overview',
  operations: { get: get(features), find: find(features) },
});
