import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Agent } from '../agent/index.ts';

/** Asks a model as Anthropic's messages do. */
export const create = (agent: Agent): Operation =>
  operation(contract.messages.create, async (context, { body }) => agent.run(context, { protocol: 'messages', body }));
