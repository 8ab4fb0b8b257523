import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Agent } from '../agent/index.ts';

/** Asks a model as OpenAI's chat completions do. */
export const completions = (agent: Agent): Operation =>
  operation(contract.chat.completions, async (context, { body }) => agent.run(context, { protocol: 'chat', body }));
