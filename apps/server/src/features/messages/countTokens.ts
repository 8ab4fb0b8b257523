import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';

/** Counts what a request would send. */
export const countTokens = (inference: Inference): Operation =>
  operation(contract.messages.countTokens, async (context, { body }) => inference.countTokens(context, body));
