import type { Feature } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';
import { create } from './create.ts';

/** Vectors of text. */
export const embeddingsFeature = (inference: Inference): Feature => ({
  name: 'embeddings',
  operations: { create: create(inference) },
});
