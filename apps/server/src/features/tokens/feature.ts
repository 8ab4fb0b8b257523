import type { Feature } from '../../kernel/feature.ts';
import { create } from './create.ts';

/** Tokens for media routes. */
export const tokensFeature: Feature = { name: 'tokens', operations: { create } };
