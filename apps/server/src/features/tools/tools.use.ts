import type { Context } from '../../kernel/http/context.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { rateLimitExceeded } from '../../kernel/share/limits.ts';

/**
 * One use of a tool by the caller's key. Throws 429 past the minute's (SVC_RATE_SEARCH, SVC_RATE_FETCH), before any work. What
 * fails because the caller left is no fault to be logged.
 */
export async function useTool<T>(context: Context, tool: 'search' | 'fetch', work: () => Promise<T>): Promise<T> {
  const { kernel, actor, signal } = context;
  const state = await kernel.limiter.take({ name: tool, perMinute: kernel.config.rates[tool] }, actor.credentialId);
  if (!state.allowed) throw rateLimitExceeded(tool, state);
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw new ApiError('unavailable', 'the caller left before its answer');
    throw error;
  }
}
