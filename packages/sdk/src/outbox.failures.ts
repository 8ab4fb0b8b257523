import { SvcError } from './error.ts';

/** A failure as it is stored. */
export interface Failure {
  status: number;
  code: string;
  message: string;
  details?: Record<string, unknown>;
  traceId?: string;
}

/** The parts of a failure that can be stored. */
export const failureOf = ({ status, code, message, details, traceId }: SvcError): Failure => ({
  status,
  code,
  message,
  ...(details && { details }),
  ...(traceId !== undefined && { traceId }),
});

/** For a write of which nobody can say whether it was done. */
export const maybeSent = (triedAt: string): SvcError =>
  new SvcError({
    status: 0,
    code: 'maybe_sent',
    message: `it was sent at ${triedAt} and its answer was lost; a repeat could do it twice: look whether it was done`,
  });

const codesThatPass = ['connection_error', 'timeout', 'idempotency_in_flight'];
/** Another key, a renewed subscription, a quieter hour or the right address mend these. */
const statusesThatPass = [401, 402, 403, 408, 421, 425, 429];

/** Whether the same write may succeed later. */
export const mayMend = ({ status, code }: SvcError): boolean =>
  codesThatPass.includes(code) || status >= 500 || statusesThatPass.includes(status);

/** Codes of Node.js for a connection that never was. */
const neverReached = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether a write that failed so cannot have been done: the gateway refused it at its door, or was never reached. */
export function isSurelyUndone({ status, code, cause }: SvcError): boolean {
  if (status > 0) return code !== 'unknown' && [401, 402, 403, 429].includes(status);
  const reason = cause instanceof Error ? (cause.cause as { code?: string } | undefined) : undefined;
  return code === 'connection_error' && neverReached.has(reason?.code ?? '');
}
