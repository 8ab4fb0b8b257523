import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';

/** Turns text into vectors. */
export const create = (inference: Inference): Operation =>
  operation(contract.embeddings.create, async (context, { body }) => inference.runEmbeddings(context, body));
