import type { Feature } from '../../kernel/feature.ts';
import type { Agent } from '../agent/index.ts';
import { completions } from './completions.ts';

/** Chat completions, for clients of OpenAI. */
export const chatFeature = (agent: Agent): Feature => ({
  name: 'chat',
  operations: { completions: completions(agent) },
});
