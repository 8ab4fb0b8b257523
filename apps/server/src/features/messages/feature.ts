import type { Feature } from '../../kernel/feature.ts';
import type { Agent } from '../agent/index.ts';
import type { Inference } from '../inference/index.ts';
import { countTokens } from './countTokens.ts';
import { create } from './create.ts';

/** Messages, for clients of Anthropic. */
export const messagesFeature = (agent: Agent, inference: Inference): Feature => ({
  name: 'messages',
  operations: { create: create(agent), countTokens: countTokens(inference) },
  // As clients of the protocol look for it.
  errorsBeside: { type: 'error' },
});
