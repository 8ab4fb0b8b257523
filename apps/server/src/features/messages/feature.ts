import type { Feature } from '../../kernel/feature.ts';
import type { Agent } from '../agent/index.ts';
import { create } from './create.ts';

/** Messages, for clients of Anthropic. */
export const messagesFeature = (agent: Agent): Feature => ({
  name: 'messages',
  operations: { create: create(agent) },
  // As clients of the protocol look for it.
  errorsBeside: { type: 'error' },
});
