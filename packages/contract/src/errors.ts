import { z } from 'zod';

/** Meaning of an error code: its HTTP status and the `type` of the envelope (document 1, Errors). */
export interface ErrorKind {
  readonly status: number;
  readonly type:
    | 'invalid_request_error'
    | 'authentication_error'
    | 'permission_error'
    | 'not_found_error'
    | 'conflict_error'
    | 'rate_limit_error'
    | 'api_error';
}

/** Codes that any route may answer. A feature's own codes stand in its contract file. */
export const sharedErrors = {
  bad_request: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  subscription_inactive: { status: 402, type: 'permission_error' },
  account_suspended: { status: 403, type: 'permission_error' },
  forbidden: { status: 403, type: 'permission_error' },
  sign_in_required: { status: 403, type: 'permission_error' },
  reauth_required: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  idempotency_in_flight: { status: 409, type: 'conflict_error' },
  answer_not_kept: { status: 409, type: 'conflict_error' },
  misdirected_request: { status: 421, type: 'invalid_request_error' },
  payload_too_large: { status: 413, type: 'invalid_request_error' },
  idempotency_mismatch: { status: 422, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  quota_exceeded: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'api_error' },
  unavailable: { status: 503, type: 'api_error' },
} as const satisfies Record<string, ErrorKind>;

/** Why a field, or the request, was refused, for clients that show it in words of their own. */
const reason = z.object({
  code: z.string().describe('Such as `too_long`'),
  params: z.record(z.string(), z.union([z.string(), z.number()])).describe('What the sentence names, such as `most`'),
});

/**
 * The error envelope of every failure (document 1, Errors). `details.fieldErrors` maps a field to its messages,
 * `details.reasons` to what those that a person can meet say, by code; `body` is the whole request.
 */
export const errorEnvelope = z
  .looseObject({
    error: z.object({
      message: z.string(),
      type: z.string(),
      code: z.string(),
      details: z
        .looseObject({
          fieldErrors: z.record(z.string(), z.array(z.string())).optional(),
          reasons: z.record(z.string(), z.array(reason)).optional(),
        })
        .optional(),
    }),
  })
  .meta({ id: 'Error' });
