import type { Context } from '../../kernel/http/context.ts';
import { rateLimitExceeded } from '../../kernel/http/limits.ts';

/** Counts one use of a tool by the caller's key; throws 429 past the minute's (SVC_RATE_SEARCH, SVC_RATE_FETCH). */
export async function takeOne({ kernel, actor }: Context, tool: 'search' | 'fetch'): Promise<void> {
  const state = await kernel.limiter.take({ name: tool, perMinute: kernel.config.rates[tool] }, actor.keyId);
  if (!state.allowed) throw rateLimitExceeded(tool, state);
}
