import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';

/** Turns text into speech. */
export const speech = (inference: Inference): Operation =>
  operation(contract.audio.speech, async (context, { body }) =>
    inference.runBytes(context, body, {
      path: '/audio/speech',
      bodyFor: (model) => ({ body: inference.named(context.bodyBytes, model), type: 'application/json' }),
    }),
  );
