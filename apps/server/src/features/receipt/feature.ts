import type { Feature } from '../../kernel/feature.ts';
import { get } from './get.ts';

/** What finished requests to models cost. */
export const receiptFeature: Feature = { name: 'receipt', operations: { get } };
