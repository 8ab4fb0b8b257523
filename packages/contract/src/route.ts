import { z } from 'zod';
import type { Scope } from './scopes.ts';
import type { Reach } from './strength.ts';

/** HTTP methods that a route may have. Wherever there is GET, HEAD answers the same without the body. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** Tool levels, weakest first. A key without a level of its own has its account's (design: kernel, accounts and keys). */
export const toolLevels = ['l0', 'l1', 'l2', 'l3_sandbox'] as const;
export type ToolLevel = (typeof toolLevels)[number];

/** Kinds of media routes that a token may be for (document 1, Authentication 3). */
export const tokenScopes = ['realtime', 'audio', 'embeddings'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** A JSON body, of a request or of an answer. */
export class Json<S extends z.ZodType = z.ZodType, F extends z.ZodType | undefined = z.ZodType | undefined> {
  readonly kind = 'json';
  /** Success schemas by status; the first status is the one that an operation answers unless it names another. */
  readonly statuses: Readonly<Record<number, z.ZodType>>;
  /** The status that an operation answers unless it names another. */
  readonly status: number;
  readonly schema: S;
  /** `data:` frames that answer in place of JSON when the request has `Accept: text/event-stream`. */
  readonly frames: F;
  /** The frames that tell a stored body again, for a repeat of an idempotent request. */
  readonly framesOf: (body: z.output<S>) => object[];

  constructor(
    status: number,
    statuses: Record<number, z.ZodType>,
    frames: F,
    framesOf: (body: z.output<S>) => object[] = () => [],
  ) {
    this.status = status;
    this.statuses = statuses;
    this.schema = statuses[status] as S;
    this.frames = frames;
    this.framesOf = framesOf;
  }

  /** The same with a further status that an operation may answer. */
  or<T extends z.ZodType>(status: number, schema: T): Json<S | T, F> {
    const framesOf = this.framesOf as (body: z.output<S | T>) => object[];
    return new Json<S | T, F>(this.status, { ...this.statuses, [status]: schema }, this.frames, framesOf);
  }

  /** The same, answered in frames when the client asks for them; `framesOf` tells a whole answer in frames. */
  orFrames<T extends z.ZodType>(frame: T, framesOf: (body: z.output<S>) => z.input<T>[]): Json<S, T> {
    return new Json<S, T>(this.status, this.statuses, frame, framesOf as (body: z.output<S>) => object[]);
  }
}

/** A JSON body. `status` is that of an answer. */
export const json = <S extends z.ZodType>(schema: S, status = 200): Json<S, undefined> =>
  new Json<S, undefined>(status, { [status]: schema }, undefined);

/** Status 204 without a body. */
export const nothing = { kind: 'nothing' } as const;

/** Text, such as `OK`. */
export const plain = <S extends z.ZodType<string>>(schema: S) => ({ kind: 'text', schema }) as const;

/**
 * Bytes, of a media type. `most` bounds those of a request, which the operation reads as they come; past it the answer
 * is 413. `ranges`: an answer may be a part, with 206.
 */
export const bytes = (most = 0, type = 'application/octet-stream', ranges = false) =>
  ({ kind: 'bytes', most, type, ranges }) as const;

/** Bytes of a media type; with `Accept: text/event-stream` named SSE events in their place, until there is no more. */
export const bytesOrEvents = <const E extends Readonly<Record<string, z.ZodType>>>(type: string, schemas: E) =>
  ({ kind: 'bytes', most: 0, type, ranges: false, schemas }) as const;

/** A body of any content type, or none; the operation sees its first `kept` bytes, unparsed. */
export const anything = (kept: number) => ({ kind: 'anything', kept }) as const;

/** An upstream's answer, passed on: JSON, or the stream of its protocol when the body asks for one; or bytes of a type. */
export const relayed = <S extends z.ZodType>(schema: S, type = 'application/json') =>
  ({ kind: 'relayed', schema, type }) as const;

/**
 * A WebSocket: the messages are those of a protocol that the operation knows. `protocols` may be chosen of those that a
 * client offers; any other name may be a secret, and is never sent back.
 */
export const socket = (...protocols: readonly string[]) => ({ kind: 'socket', protocols }) as const;

/** Named SSE events without end, by name (document 1, Events). */
export const events = <const E extends Readonly<Record<string, z.ZodType>>>(schemas: E) =>
  ({ kind: 'events', schemas }) as const;

/** Kinds of request body. */
export type Takes = Json<z.ZodType, undefined> | ReturnType<typeof bytes> | ReturnType<typeof anything>;
/** Kinds of successful answer. */
export type Answers =
  | Json
  | typeof nothing
  | ReturnType<typeof socket>
  | { readonly kind: 'text'; readonly schema: z.ZodType<string> }
  | { readonly kind: 'relayed'; readonly schema: z.ZodType; readonly type: string }
  | ReturnType<typeof bytes>
  | {
      readonly kind: 'bytes';
      readonly most: number;
      readonly type: string;
      readonly ranges: boolean;
      readonly schemas: Readonly<Record<string, z.ZodType>>;
    }
  | { readonly kind: 'events'; readonly schemas: Readonly<Record<string, z.ZodType>> };

/** Input and answers of one operation of the HTTP API. `operationId` is `<feature>.<verb>`. */
export interface Route<Code extends string = string> {
  readonly method: Method;
  /** Path with `{name}` for parameters, as in OpenAPI; `{name*}` at its end takes the rest of the path, slashes too. */
  readonly path: string;
  readonly summary: string;
  /**
   * Who answers it. `relay`: processes that relay, at the path of `{relay_url}` followed by this one. `everywhere`: every
   * process that listens. If unset: gateways.
   */
  readonly at?: 'relay' | 'everywhere';
  /** `key`: a bearer key is required. `open`: anyone may call (document 1, Authentication 5). */
  readonly auth: 'key' | 'open';
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Headers beyond the shared ones (`Authorization`, `x-request-id`, `x-svc-device`). Lower case. */
  readonly headers?: z.ZodObject;
  readonly takes?: Takes;
  readonly answers: Answers;
  /** Error codes that this operation adds to the ones every route of its kind can answer. */
  readonly errors?: readonly Code[];
  /** Honours `Idempotency-Key`. A POST does, or says in `notIdempotent` why a repeat does no harm or is another request. */
  readonly idempotent?: boolean;
  readonly notIdempotent?: string;
  /** The answer holds a secret: what is kept for a repeat of its `Idempotency-Key` opens with the caller's key alone. */
  readonly shownOnce?: boolean;
  /** A key needs one of these scopes, or `*`. If unset: the feature's, and `<feature>:read` for GET. */
  readonly scopes?: readonly Scope[];
  /** What a credential of an app needs besides: what `scopes` include for keys of people and not for apps. */
  readonly ofApps?: Scope;
  /** What it gives away that lasts beyond it, by the table of `strength.ts`. */
  readonly gives?: readonly Reach[];
  /** Lowest tool level of a key that may call it. */
  readonly toolLevel?: ToolLevel;
  /** Costs money: refused with `quota_exceeded` once the key's spend cap is reached. */
  readonly metered?: boolean;
  /** The operation gets the bytes of the JSON body too, to pass them on as they came. */
  readonly verbatim?: boolean;
  /** Tokens of this scope may call it in place of a key. */
  readonly tokenScope?: TokenScope;
  /**
   * Who may call it, of those who show a credential. `login`: signed-in people. `token`: apps with an OAuth access token. If
   * unset: keys and signed-in people, and apps where `accessTokens` names what their tokens are for.
   */
  readonly only?: 'login' | 'token';
  /** A signed-in person calls it with an API key only: models, which cost, and what programs speak. */
  readonly refusesLogins?: boolean;
  /** A browser calls it by itself, seen or not: the login of whoever signed in there does not live longer by it. */
  readonly isUnattended?: boolean;
  /** OAuth access tokens for this resource may call it in place of a key: `{base_url}/mcp`, or `{base_url}`. */
  readonly accessTokens?: 'mcp' | 'api';
  /** A signed-in person must have proved who they are within so many seconds (403 `reauth_required`). */
  readonly freshWithin?: number;
  /** A header that may hold the key in place of `Authorization` (document 1, Authentication 2). Lower case. */
  readonly keyHeader?: 'x-api-key';
  /** Still served while the gateway drains, so that work in flight can finish. */
  readonly whileDraining?: boolean;
  /** A second method that does the same; of open routes, as scopes know one method a route. */
  readonly also?: 'POST';
  /** Any web page may call it (CORS `*`, `OPTIONS` too), and no cache keeps the answer. */
  readonly cors?: boolean;
}

/** Every method that a route is registered for. */
export function methodsOf({ method, also, cors }: Route): (Method | 'HEAD')[] {
  return [
    method,
    ...(method === 'GET' ? (['HEAD'] as const) : []),
    ...(also ? [also] : []),
    ...(cors ? (['OPTIONS'] as const) : []),
  ];
}

/** The scopes of which a key needs one to call a route of `feature`; `*` allows every route. */
export const scopesOf = (feature: string, { method, scopes }: Route): readonly string[] =>
  scopes ?? [feature, ...(method === 'GET' ? [`${feature}:read`] : [])];

/** The name of the parameter that takes the rest of the path; undefined for most routes. */
export const restParameter = ({ path }: Route): string | undefined => /\{(\w+)\*\}$/.exec(path)?.[1];

/** Declares one route; keeps the literal types that the server and the client derive theirs from. */
export function route<const R extends Route>(definition: R): R {
  return definition;
}

type Schema<T> = T extends z.ZodType ? T : never;
type Part<R extends Route, K extends keyof Route, Name extends string, Side extends 'in' | 'out'> = R extends {
  [P in K]: infer S;
}
  ? Side extends 'out'
    ? { [P in Name]: z.output<Schema<S>> }
    : {} extends z.input<Schema<S>>
      ? { [P in Name]?: z.input<Schema<S>> }
      : { [P in Name]: z.input<Schema<S>> }
  : unknown;
/** A caller may leave out a query that needs nothing: a route that gets one breaks no call. */
type Query<R extends Route, Side extends 'in' | 'out'> = R extends { query: infer S }
  ? Side extends 'out'
    ? { query: z.output<Schema<S>> }
    : Partial<z.input<Schema<S>>> extends z.input<Schema<S>>
      ? { query?: z.input<Schema<S>> }
      : { query: z.input<Schema<S>> }
  : unknown;
type Body<R extends Route, Side extends 'in' | 'out'> = R extends { takes: infer T }
  ? T extends Json<infer S, undefined>
    ? { body: Side extends 'in' ? z.input<S> : z.output<S> }
    : T extends { kind: 'bytes' }
      ? Side extends 'in'
        ? { body: Uint8Array }
        : unknown
      : Side extends 'in'
        ? { body?: string | Uint8Array }
        : unknown
  : unknown;
type RouteParts<R extends Route, Side extends 'in' | 'out'> = Part<R, 'params', 'params', Side> &
  Query<R, Side> &
  Part<R, 'headers', 'headers', Side> &
  Body<R, Side>;

/** Input of a caller, before defaults are applied. */
export type RouteInput<R extends Route> = RouteParts<R, 'in'>;
/** Input of an operation, after validation and defaults. Bytes come as `context.upload` or `context.anything`. */
export type RouteParsed<R extends Route> = RouteParts<R, 'out'>;

type Success<A, Side extends 'in' | 'out'> =
  A extends Json<infer S>
    ? Side extends 'in'
      ? z.input<S>
      : z.output<S>
    : A extends { kind: 'relayed'; schema: infer S }
      ? Side extends 'in'
        ? undefined
        : z.output<Schema<S>>
      : A extends { kind: 'text' }
        ? string
        : A extends { kind: 'bytes' }
          ? Uint8Array
          : undefined;
/** Answer to a caller: the union of the success bodies. */
export type RouteOutput<R extends Route> = Success<R['answers'], 'out'>;
/** Result of an operation, before the response schema is applied. */
export type RouteResult<R extends Route> = Success<R['answers'], 'in'>;
/** The frames of an event stream: `{ event, data }`, discriminated by `event`. */
export type RouteEvent<R extends Route> = R['answers'] extends { schemas: infer E }
  ? { [K in keyof E & string]: { event: K; data: z.output<Schema<E[K]>> } }[keyof E & string]
  : never;
/** The frames that may answer in place of JSON. */
export type RouteFrame<R extends Route> = R['answers'] extends Json<z.ZodType, infer F> ? z.output<Schema<F>> : never;
