import type { Feature } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';
import { create } from './create.ts';

/** Responses, for clients of OpenAI. */
export const responsesFeature = (inference: Inference): Feature => ({
  name: 'responses',
  operations: { create: create(inference) },
});
