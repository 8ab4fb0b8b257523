import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';
import { relayForm } from './audio.form.ts';

/** Turns speech into text. */
export const transcriptions = (inference: Inference): Operation =>
  operation(contract.audio.transcriptions, async (context) => relayForm(inference, context, '/audio/transcriptions'));
