import { NodeFailure } from '@svc/sandboxd-api';
import { ApiError, badRequest, notFound } from '../../../kernel/base/errors.ts';
import { aheadFix, aheadText } from './fence.ts';

/** `sandbox_capacity` with `Retry-After`. */
export const noCapacity = (message: string, retryAfterS = 10): ApiError =>
  new ApiError('sandbox_capacity', message, { headers: { 'retry-after': String(retryAfterS) } });

/** The node of a sandbox is away. */
export const nodeAway = (): ApiError =>
  noCapacity('the machine that holds this sandbox does not answer; try again shortly', 5);

/** A refusal of sandboxd's in the API's terms; `missing` is what a 404 means here. */
export function toApiFailure(error: unknown, missing = 'sandbox'): unknown {
  if (!(error instanceof NodeFailure) || error.code === 'internal_error') return error;
  const { message } = error;
  const failures: Record<Exclude<NodeFailure['code'], 'internal_error'>, () => ApiError> = {
    bad_request: () => badRequest(message),
    not_found: () => notFound(missing),
    // Its row says that it runs, as a request has found: it ended, and the row follows.
    no_sandbox: notRunning,
    unreachable: nodeAway,
    sandbox_capacity: () => noCapacity(message, error.retryAfterS),
    sandbox_busy: () => busy(message),
    sandbox_not_running: notRunning,
    memory_not_saved: () => new ApiError('memory_not_saved', `${message}; or pause with files_only`),
    fenced: () => noCapacity(`${aheadText}; ${aheadFix}`),
    not_supported_on_v1: () => new ApiError('not_supported_on_v1', 'this needs a v2 sandbox'),
    workspace_too_large: () => new ApiError('workspace_too_large', message),
  };
  return failures[error.code]();
}

export const busy = (why = 'a command runs in this sandbox; wait until it ends'): ApiError =>
  new ApiError('sandbox_busy', why, { headers: { 'retry-after': '1' } });
/** It began and was cut short: to repeat it would do twice what it did until then. */
export const interrupted = (why: string): ApiError =>
  new ApiError('command_interrupted', `${why}, and this command was ended; what it did until then stays`, {
    headers: { 'x-should-retry': 'false' },
  });
export const notRunning = (): ApiError =>
  new ApiError('sandbox_not_running', 'this sandbox does not run; resume it, or create another');
