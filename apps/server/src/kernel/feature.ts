import type { Readable } from 'node:stream';
import type { ErrorCode, Route, RouteOutput, RouteParsed, RouteResult } from '@svc/contract';
import type { Context, Kernel } from './context.ts';
import type { JobDefinition } from './jobs.ts';
import type { EventStream } from './sse.ts';

/** A success other than the route's first status. */
export class Answer<T> {
  readonly status: number;
  readonly body: T;

  constructor(status: number, body: T) {
    this.status = status;
    this.body = body;
  }
}

/** The bytes that a route with `download` answers. */
export class Download {
  readonly body: Readable;
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: Readable, headers: Readonly<Record<string, string>>) {
    this.body = body;
    this.headers = headers;
  }
}

/** One operation: a route of the contract and what it does. */
export interface Operation {
  readonly route: Route;
  readonly run: (context: Context, input: never) => Promise<unknown>;
  /** Set on streaming routes, in place of `run`'s answer. */
  readonly open?: (context: Context, input: never, start: () => EventStream) => Promise<void>;
  /** Of a route with `frames`: those that tell a stored answer again. */
  readonly replay?: (body: never) => object[];
}

/** Binds a route to its work; the input is validated and the result typed by the contract. */
export function operation<R extends Route>(
  route: R,
  run: (context: Context, input: RouteParsed<R>) => Promise<RouteResult<R> | Answer<RouteResult<R>>>,
): Operation {
  return { route, run };
}

/**
 * Binds a route with `frames`: `run` sends them to `context.frames` as they come, all but the last, and answers the whole
 * at the end. `replay` turns that into frames again: its last ends the answer, all of them answer a repeat.
 */
export function framesOperation<R extends Route>(
  route: R,
  run: (context: Context, input: RouteParsed<R>) => Promise<RouteResult<R>>,
  replay: (body: RouteOutput<R>) => object[],
): Operation {
  return { route, run, replay };
}

/** Binds a route with `download`. */
export function downloadOperation<R extends Route>(
  route: R,
  run: (context: Context, input: RouteParsed<R>) => Promise<Download>,
): Operation {
  return { route, run };
}

/**
 * Binds a streaming route. `open` may refuse by throwing until it calls `start`, which sends the head; then it sets the
 * stream up and returns, and frames flow until either side ends it.
 */
export function streamOperation<R extends Route>(
  route: R,
  open: (context: Context, input: RouteParsed<R>, start: () => EventStream) => Promise<void>,
): Operation {
  return { route, run: () => Promise.reject(new Error('a stream has no single answer')), open };
}

/** A feature as `app.ts` lists it: its operations by verb and its work outside requests. */
export interface Feature {
  /** URL segment, folder, contract file, Postgres schema, OpenAPI tag and SDK namespace. */
  readonly name: string;
  readonly operations: Readonly<Record<string, Operation>>;
  /** On every answer of its routes, refusals among them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly jobs?: readonly JobDefinition[];
  /** Starts background work; answers how it is ended. Runs before the first request. */
  readonly start?: (kernel: Kernel) => Promise<{
    /** Finish or hand back work in flight; requests marked `whileDraining` are still served. */
    drain?: () => Promise<void>;
    stop?: () => Promise<void>;
  }>;
}

/** Errors that every route of a kind can answer, for the reference. */
export function routeErrors(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors ?? []);
  if (route.auth === 'key') {
    for (const code of ['invalid_api_key', 'subscription_inactive', 'forbidden', 'rate_limit_exceeded'] as const) {
      codes.add(code);
    }
    codes.add('bad_request');
    codes.add('internal_error');
  }
  if (route.params) codes.add('not_found');
  if (route.body || route.upload) codes.add('payload_too_large');
  if (route.metered) codes.add('quota_exceeded');
  if (route.idempotent) {
    codes.add('idempotency_in_flight');
    codes.add('idempotency_mismatch');
  }
  return [...codes];
}
