import { z } from 'zod';

/** HTTP methods that a route may have. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Tool levels, weakest first. A key without a level of its own has its account's (kernel: accounts and keys). */
export const toolLevels = ['l0', 'l1', 'l2', 'l3_sandbox'] as const;
export type ToolLevel = (typeof toolLevels)[number];

/** What one operation of the HTTP API takes and answers. `operationId` is `<feature>.<verb>`. */
export interface Route {
  readonly method: Method;
  /** Path with `{name}` for parameters, as in OpenAPI. */
  readonly path: string;
  readonly summary: string;
  /** `key`: a bearer key is required. `open`: anyone may call (document 1, Authentication 5). */
  readonly auth: 'key' | 'open';
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Headers beyond the shared ones (`Authorization`, `x-request-id`, `x-svc-device`). Lower case. */
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Success bodies by status; the first is the one a handler answers with unless it names another. */
  readonly responses: Readonly<Record<number, z.ZodType>>;
  /** Named SSE events of a streaming route, in place of a JSON body (document 1, Events). */
  readonly events?: Readonly<Record<string, z.ZodType>>;
  /** Error codes that this operation adds to the ones every route of its kind can answer. */
  readonly errors?: readonly ErrorCode[];
  /** Honours `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /** Lowest tool level of a key that may call it. */
  readonly toolLevel?: ToolLevel;
  /** Costs money: refused with `quota_exceeded` once the key's spend cap is reached. */
  readonly metered?: boolean;
  /** Still served while the gateway drains, so that work in flight can finish. */
  readonly whileDraining?: boolean;
  /** Further methods that do the same; of open routes, as scopes know one method a route. */
  readonly also?: readonly ('HEAD' | 'POST')[];
  /** Takes a body of any content type or none; the handler sees its first so many bytes, unparsed. */
  readonly rawBody?: number;
  /** Answers text in place of JSON. */
  readonly plain?: boolean;
  /** Any web page may call it (CORS `*`, `OPTIONS` too), and no cache keeps the answer. */
  readonly cors?: boolean;
  /** The path's last parameter takes the rest of the path, slashes too. */
  readonly rest?: boolean;
  /** The body is bytes of any content type, at most so many, which the handler reads as they come. */
  readonly upload?: number;
  /** Answers bytes in place of JSON. */
  readonly download?: boolean;
  /** With `Accept: text/event-stream` it answers these `data:` frames in place of JSON. */
  readonly frames?: z.ZodType;
  /** Scope that a key needs, where it is not the feature's own name. */
  readonly scope?: string;
}

/** Every method that a route is registered for. */
export function methodsOf(route: Route): (Method | 'HEAD' | 'OPTIONS')[] {
  return [route.method, ...(route.also ?? []), ...(route.cors ? (['OPTIONS'] as const) : [])];
}

/** Declares one route; keeps the literal types that the server and the client derive theirs from. */
export function route<const R extends Route>(definition: R): R {
  return definition;
}

type Schema<T> = T extends z.ZodType ? T : never;
type Part<R extends Route, K extends keyof Route, Name extends string, Side extends 'in' | 'out'> = R extends {
  [P in K]: infer S;
}
  ? { [P in Name]: Side extends 'in' ? z.input<Schema<S>> : z.output<Schema<S>> }
  : unknown;
type Parts<R extends Route, Side extends 'in' | 'out'> = Part<R, 'params', 'params', Side> &
  Part<R, 'query', 'query', Side> &
  Part<R, 'headers', 'headers', Side> &
  Part<R, 'body', 'body', Side>;

/** What a caller passes, before defaults are applied. */
export type RouteInput<R extends Route> = Parts<R, 'in'>;
/** What a handler receives, after validation and defaults. */
export type RouteParsed<R extends Route> = Parts<R, 'out'>;
/** What a caller gets back: the union of the success bodies. */
export type RouteOutput<R extends Route> = z.output<R['responses'][keyof R['responses']]>;
/** What a handler may return, before the response schema is applied. */
export type RouteResult<R extends Route> = z.input<R['responses'][keyof R['responses']]>;
/** The frames of a streaming route: `{ event, data }`, discriminated by `event`. */
export type RouteEvent<R extends Route> = R extends { events: infer E }
  ? { [K in keyof E & string]: { event: K; data: z.output<Schema<E[K]>> } }[keyof E & string]
  : never;

/** HTTP status of every error code, grouped by the `type` of the envelope (document 1, Errors; kernel). */
export const errorCodes = {
  bad_request: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  subscription_inactive: { status: 402, type: 'permission_error' },
  forbidden: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  insufficient_balance: { status: 402, type: 'permission_error' },
  invalid_ttl: { status: 400, type: 'invalid_request_error' },
  invalid_count: { status: 400, type: 'invalid_request_error' },
  sandbox_busy: { status: 409, type: 'conflict_error' },
  sandbox_not_running: { status: 409, type: 'conflict_error' },
  not_supported_on_v1: { status: 409, type: 'conflict_error' },
  not_supported_on_v2: { status: 409, type: 'conflict_error' },
  host_offline: { status: 409, type: 'conflict_error' },
  idempotency_in_flight: { status: 409, type: 'conflict_error' },
  key_revoked: { status: 409, type: 'conflict_error' },
  lease_held: { status: 409, type: 'conflict_error' },
  task_not_confirmable: { status: 409, type: 'conflict_error' },
  hash_mismatch: { status: 409, type: 'conflict_error' },
  email_taken: { status: 409, type: 'conflict_error' },
  workspace_too_large: { status: 413, type: 'invalid_request_error' },
  payload_too_large: { status: 413, type: 'invalid_request_error' },
  idempotency_mismatch: { status: 422, type: 'invalid_request_error' },
  sandbox_concurrency_limit: { status: 429, type: 'rate_limit_error' },
  sandbox_paused_limit: { status: 429, type: 'rate_limit_error' },
  sandbox_daily_limit: { status: 429, type: 'rate_limit_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  quota_exceeded: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'api_error' },
  host_disconnected: { status: 502, type: 'api_error' },
  sandbox_capacity: { status: 503, type: 'api_error' },
  unavailable: { status: 503, type: 'api_error' },
  host_timeout: { status: 504, type: 'api_error' },
} as const;
export type ErrorCode = keyof typeof errorCodes;

/** The error envelope of every failure (document 1, Errors). `details.fieldErrors` maps a field to its messages. */
export const errorEnvelope = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      code: z.string(),
      details: z.looseObject({ fieldErrors: z.record(z.string(), z.array(z.string())).optional() }).optional(),
    }),
  })
  .meta({ id: 'Error' });

/** Text that a database can hold: no NUL, no lone surrogate; at most `max` UTF-16 units. */
export function text(max: number) {
  return z
    .string()
    .max(max)
    .refine((value) => !value.includes('\u0000') && value.isWellFormed(), 'must be well-formed text without NUL');
}

/** A UUID of any version, answered in lower case. */
export const uuid = z.guid().toLowerCase();
/** RFC 3339 UTC instant in responses. */
export const dateTime = z.iso.datetime();
/** Milliseconds since the Unix epoch. */
export const epochMs = z.int().nonnegative();
/** `limit` of a list's query: 1 to `most`, `fallback` when absent. A client gives a number, the query carries its digits. */
export const limit = (most: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .default(fallback)
    .describe(`1 to ${most}, default ${fallback}`) as unknown as z.ZodDefault<z.ZodType<number, number>>;
