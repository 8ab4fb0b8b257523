import type { Feature } from '../../kernel/feature.ts';
import { get } from './get.ts';

/** The cost of finished requests to models. */
export const receiptFeature: Feature = { name: 'receipt', operations: { get } };
