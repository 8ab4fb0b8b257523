import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import { refuseOurs } from '../agent/index.ts';
import type { Inference } from '../inference/index.ts';

/** Asks a model as OpenAI's responses do. */
export const create = (inference: Inference): Operation =>
  operation(contract.responses.create, async (context, { body }) => {
    refuseOurs(body);
    return inference.run(context, { protocol: 'responses', body });
  });
