import type { Feature } from '../../kernel/feature.ts';
import { entries } from './entries.ts';
import { get, type UnpaidOf } from './get.ts';
import { walletManifest } from './index.ts';

/** Prepaid balances. */
export const walletFeature = (unpaidOf: UnpaidOf): Feature => ({
  ...walletManifest,
  operations: { get: get(unpaidOf), entries },
});
