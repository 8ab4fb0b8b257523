import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';
import { relayForm } from './audio.form.ts';

/** Turns speech into English text. */
export const translations = (inference: Inference): Operation =>
  operation(contract.audio.translations, async (context) => relayForm(inference, context, '/audio/translations'));
