import type { Feature } from '../../kernel/feature.ts';
import { get, type SystemParts } from './get.ts';

/** How the installation does, for its operators. */
export const systemFeature = (parts: SystemParts): Feature => ({ name: 'system', operations: { get: get(parts) } });
