import type { Feature } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';
import { get } from './get.ts';
import { list } from './list.ts';

/** Names of models. */
export const modelsFeature = (inference: Inference): Feature => ({
  name: 'models',
  operations: { list: list(inference), get: get(inference) },
});
