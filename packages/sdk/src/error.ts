import type { ErrorCode } from '@svc/contract';

/** Codes of this client: no answer came, not in time, the host said no, or the answer was none of ours. */
type OwnCode = 'connection_error' | 'timeout' | 'host_failed' | 'outbox_full' | 'maybe_sent' | 'unknown';
/** Codes of the envelope, and of this client; a newer gateway has more. */
export type SvcErrorCode = ErrorCode | OwnCode | (string & {});

/** A failure answered by the gateway, or status 0 when no answer came. */
export class SvcError extends Error {
  readonly status: number;
  readonly code: SvcErrorCode;
  readonly details: Record<string, unknown> | undefined;
  /** `x-svc-trace-id` of the answer, to quote when reporting a fault. */
  readonly traceId: string | undefined;
  /** Seconds after which the gateway asks to try again (`Retry-After`). */
  readonly retryAfter: number | undefined;
  /** False when the gateway says that a repeat is of no use (`x-should-retry`). */
  readonly mayRepeat: boolean;

  constructor(fields: {
    status: number;
    code: SvcErrorCode;
    message: string;
    details?: Record<string, unknown> | undefined;
    traceId?: string | undefined;
    retryAfter?: number | undefined;
    mayRepeat?: boolean;
    cause?: unknown;
  }) {
    super(fields.message, { cause: fields.cause });
    this.name = 'SvcError';
    this.status = fields.status;
    this.code = fields.code;
    this.details = fields.details;
    this.traceId = fields.traceId;
    this.retryAfter = fields.retryAfter;
    this.mayRepeat = fields.mayRepeat ?? true;
  }

  /** Messages of each faulty field of a `bad_request`. */
  get fieldErrors(): Readonly<Record<string, string[]>> {
    return (this.details?.['fieldErrors'] ?? {}) as Record<string, string[]>;
  }

  /** Reads the envelope `{ error: { message, code, details } }`; tolerates an answer that is not ours. */
  static async fromResponse(response: Response): Promise<SvcError> {
    const body: unknown = await response.json().catch(() => undefined);
    const error = (body as { error?: Record<string, unknown> } | undefined)?.error;
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new SvcError({
      status: response.status,
      code: typeof error?.['code'] === 'string' ? error['code'] : 'unknown',
      message: typeof error?.['message'] === 'string' ? error['message'] : `HTTP ${response.status}`,
      details: error?.['details'] as Record<string, unknown> | undefined,
      traceId: response.headers.get('x-svc-trace-id') ?? undefined,
      retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
      mayRepeat: response.headers.get('x-should-retry') !== 'false',
    });
  }
}

/** Whether a failure is the gateway's, with one of the codes when some are given. */
export function isSvcError(error: unknown, ...codes: readonly (ErrorCode | OwnCode)[]): error is SvcError {
  return error instanceof SvcError && (codes.length === 0 || (codes as readonly string[]).includes(error.code));
}
