import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';

/** Turns text into speech. */
export const speech = (inference: Inference): Operation =>
  operation(contract.audio.speech, async (context, { body }) =>
    inference.runBytes(context, body, {
      path: '/audio/speech',
      // A letter takes a tenth of a second, slowly spoken, and a second twenty tokens.
      most: { input: context.bodyBytes.length, output: context.bodyBytes.length * 4, isSound: true },
      bodyFor: (model) => ({ body: inference.named(context.bodyBytes, model), type: 'application/json' }),
    }),
  );
