import type { z } from 'zod';
import type { Route, RouteEvent, RouteFrame, RouteInput, RouteOutput } from '../route.ts';

/** The request. A body of bytes stands as text. */
type Request<R extends Route> = R extends { takes: { kind: 'bytes' | 'anything' } }
  ? Omit<RouteInput<R>, 'body'> & { body?: string }
  : RouteInput<R>;

/** The answer, with the first success status of the route. */
type Response<R extends Route> = R['answers'] extends { kind: 'nothing' }
  ? unknown
  : R['answers'] extends { kind: 'events' }
    ? { /** One event of the stream. */ response: RouteEvent<R> }
    : R['answers'] extends { kind: 'bytes'; schemas: object }
      ? {
          /** A sentence on what the bytes are. */ response: string;
          /** One event, for a request with `Accept: text/event-stream`. */ frame: RouteEvent<R>;
        }
      : R['answers'] extends { kind: 'bytes' }
        ? { /** A sentence on what the bytes are. */ response: string }
        : R['answers'] extends { frames: z.ZodType }
          ? {
              response: RouteOutput<R> /** One frame, for a request with `Accept: text/event-stream`. */;
              frame: RouteFrame<R>;
            }
          : { response: RouteOutput<R> };

/** A request that works, and what it answers. Ids and secrets are those of `samples.ts`. */
export type Example<R extends Route> = Request<R> & Response<R>;

/** Description and example of one operation beyond its summary and its schemas. */
export interface Doc<R extends Route = Route> {
  /** One to three sentences for somebody who writes a client: limits, what follows, which error means what. */
  readonly description: string;
  readonly example: Example<R>;
}

/** The docs of a feature's routes: TypeScript refuses a missing verb and a spare one. */
export type Docs<F extends object> = { readonly [V in keyof F]: F[V] extends Route ? Doc<F[V]> : never };

/** The same for code that walks all of them. */
export interface AnyDoc {
  readonly description: string;
  readonly example: {
    readonly params?: Readonly<Record<string, unknown>>;
    readonly query?: Readonly<Record<string, unknown>>;
    readonly headers?: Readonly<Record<string, unknown>>;
    readonly body?: unknown;
    readonly response?: unknown;
    readonly frame?: unknown;
  };
}
