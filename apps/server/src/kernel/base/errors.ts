import { type ErrorCode, errorCodes, type Reason, reasonOf } from '@svc/contract';

/** The envelope that every failure is answered with (document 1, Errors). */
interface Envelope {
  error: { message: string; type: string; code: string; details?: Record<string, unknown> };
  /** Fields that the documentation of a code puts beside `error`. */
  [beside: string]: unknown;
}

/** A failure with a documented status and code. The message tells the caller what to do. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;
  readonly headers: Record<string, string> | undefined;
  readonly beside: Record<string, unknown> | undefined;
  /** Another server's own words for it, in the places of ours. */
  readonly told: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    extra: {
      details?: Record<string, unknown>;
      headers?: Record<string, string>;
      beside?: Record<string, unknown>;
      told?: Readonly<Record<string, unknown>>;
    } = {},
  ) {
    super(message);
    this.code = code;
    this.details = extra.details;
    this.headers = extra.headers;
    this.beside = extra.beside;
    this.told = extra.told;
  }

  get status(): number {
    return errorCodes[this.code].status;
  }

  envelope(): Envelope {
    const { code, message, told } = this;
    const reasons = told ? undefined : reasonsOf(message, this.details);
    const details = reasons ? { ...this.details, reasons } : this.details;
    const error = { message, type: errorCodes[code].type, code, ...told, ...(details && { details }) };
    return { error, ...this.beside };
  }
}

const mostReasons = 5;

/** The reasons of each field that has one, at most five of a field; without fields that of the message, as `body`. */
function reasonsOf(
  message: string,
  details: Record<string, unknown> | undefined,
): Record<string, Reason[]> | undefined {
  const fields = Object.entries((details?.['fieldErrors'] ?? {}) as Record<string, string[]>);
  const said = fields.length > 0 ? fields : [['body', [message]] as const];
  const reasons = said
    .map(
      ([field, sentences]) => [field, sentences.slice(0, mostReasons).flatMap((one) => reasonOf(one) ?? [])] as const,
    )
    .filter(([, found]) => found.length > 0);
  return reasons.length > 0 ? Object.fromEntries(reasons) : undefined;
}

const mostFields = 50;
const longestName = 128;

/**
 * Adds what a schema refuses, each under the path of its field: `spec.command`, `items.0.name`; `body` is the whole. At
 * most 50 fields: a body may have a hundred thousand faults.
 */
export function addFieldErrors(
  fieldErrors: Record<string, string[]>,
  issues: readonly { path: readonly PropertyKey[]; message: string }[],
): void {
  for (const { path, message } of issues) {
    const field = path.map((part) => String(part).slice(0, longestName)).join('.') || 'body';
    if (Object.hasOwn(fieldErrors, field)) fieldErrors[field]?.push(message);
    else if (Object.keys(fieldErrors).length < mostFields) fieldErrors[field] = [message];
  }
}

/** 400 with the messages of each faulty field, by its path (document 1: `details.fieldErrors`). */
export function badRequest(message: string, fieldErrors: Record<string, string[]> = {}): ApiError {
  return new ApiError('bad_request', message, { details: { fieldErrors } });
}

/** The one 404 for what does not exist and for what belongs to someone else. */
export function notFound(what = 'resource'): ApiError {
  return new ApiError('not_found', `no such ${what}`);
}

/** Failures of Fastify, Node and Postgres in our terms; anything unknown is a 500 that tells nothing. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, statusCode, syscall } = error as { code?: unknown; statusCode?: unknown; syscall?: unknown };
  // A missing socket is a database that is away; any other missing file is a fault of ours.
  if (typeof code === 'string' && (code !== 'ENOENT' || syscall === 'connect')) {
    // The same code for a broken upload (Fastify adds the status) and for a broken connection to the database.
    const known = byCode(typeof statusCode === 'number' ? code : (databaseCodes[code] ?? code));
    if (known) return known;
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return badRequest('the request is malformed; check its syntax and content type');
  }
  return new ApiError('internal_error', 'an unexpected fault occurred; quote the x-svc-trace-id when reporting it');
}

const databaseCodes: Record<string, string> = {
  ECONNRESET: 'CONNECTION_CLOSED',
  EPIPE: 'CONNECTION_CLOSED',
  ETIMEDOUT: 'CONNECT_TIMEOUT',
};

function byCode(code: string): ApiError | undefined {
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('payload_too_large', 'the request body is over 12 MiB; send a smaller one');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return badRequest('unsupported content type; send application/json');
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return badRequest('the body is not valid JSON');
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return badRequest('the request body ended early');
    // Postgres: text that its encoding or its JSON cannot hold. Schemas refuse it first; this is the net below.
    case '22021':
    case '22P05':
      return badRequest('text must not contain NUL or lone surrogates');
    case 'CONNECT_TIMEOUT':
    case 'CONNECTION_CLOSED':
    case 'CONNECTION_ENDED':
    case 'CONNECTION_DESTROYED':
    case 'ECONNREFUSED':
    case 'ENOENT':
    // Another process has what this one began.
    case '40001':
    // Two waited for each other: this one is undone.
    case '40P01':
    case '57014':
    case '57P01':
    case '57P02':
    case '57P03':
    case '53300':
      return new ApiError('unavailable', 'the database cannot be reached; try again shortly', {
        headers: { 'retry-after': '1' },
      });
    default:
      return undefined;
  }
}
