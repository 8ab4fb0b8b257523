import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { text } from './fields.ts';

/** Codes that routes of models add. `upstream_rejected` (additive): the provider understood the request and refuses it. */
export const inferenceErrors = {
  upstream_error: { status: 502, type: 'api_error' },
  upstream_rejected: { status: 422, type: 'invalid_request_error' },
} as const satisfies Record<string, ErrorKind>;

/** Further error codes of any route that asks a model. */
export const inferenceCodes = ['not_found', 'upstream_error', 'upstream_rejected', 'quota_exceeded'] as const;

/** A model's name or an alias, as `GET /v1/models` lists them. */
export const modelName = text(200).min(1);

/** An object of the protocol: svc reads what it needs of it, and passes the rest on untouched. */
export const anyObject = z.looseObject({});
