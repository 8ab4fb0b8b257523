import type { Contract, Route, RouteEvent, RouteFrame, RouteInput, RouteOutput } from '@svc/contract';
import { SvcError } from './error.ts';
import { parseData, parseEvents } from './events.ts';
import { type RouteRow, routes } from './routes.ts';
import { type CallOptions, type Input, send } from './send.ts';
import { type ClientOptions, type Settings, settingsOf } from './settings.ts';

type Parameters<R extends Route> =
  unknown extends RouteInput<R>
    ? [input?: Record<string, never>, options?: CallOptions]
    : {} extends Omit<RouteInput<R>, 'headers'>
      ? [input?: Omit<RouteInput<R>, 'headers'>, options?: CallOptions]
      : [input: Omit<RouteInput<R>, 'headers'>, options?: CallOptions];
type Returned<R extends Route> = R['answers']['kind'] extends 'events'
  ? AsyncGenerator<RouteEvent<R>>
  : Promise<RouteOutput<R>>;
type Framed<R extends Route> = [RouteFrame<R>] extends [never]
  ? unknown
  : {
      /** The answer in frames, as they come (`Accept: text/event-stream`). */
      frames(...call: Parameters<R>): AsyncGenerator<RouteFrame<R>>;
    };
type ItemOf<O> = { [K in keyof O]-?: NonNullable<O[K]> extends readonly (infer I)[] ? I : never }[keyof O];
type Paged<R extends Route> =
  RouteInput<R> extends { query?: { cursor?: unknown } | undefined }
    ? {
        /** Every item, page after page. */
        all(...call: Parameters<R>): AsyncGenerator<ItemOf<RouteOutput<R>>>;
      }
    : unknown;
type Followed<R extends Route> = R['answers'] extends { kind: 'bytes'; schemas: object }
  ? {
      /** The answer in events, as they come (`Accept: text/event-stream`). */
      events(...call: Parameters<R>): AsyncGenerator<RouteEvent<R>>;
    }
  : unknown;
type Operation<R extends Route> = ((...call: Parameters<R>) => Returned<R>) & Framed<R> & Followed<R> & Paged<R>;

/** `client.<feature>.<verb>(input)` for every route of the contract. */
export type Client = {
  [F in keyof Contract]: { [V in keyof Contract[F]]: Contract[F][V] extends Route ? Operation<Contract[F][V]> : never };
};

/** Makes a client whose operations are derived from the route table; failures throw `SvcError`. */
export const createClient = (options: ClientOptions = {}): Client => clientOf(routes, options) as Client;

/** A client of a route table. */
export function clientOf(table: typeof routes, options: ClientOptions): object {
  const settings = settingsOf(options);
  const features = Object.entries(table).map(([feature, verbs]) => [
    feature,
    Object.fromEntries(Object.entries(verbs).map(([verb, route]) => [verb, operation(settings, route)])),
  ]);
  return Object.fromEntries(features) as object;
}

function operation(settings: Settings, route: RouteRow) {
  if (route.answers === 'events') {
    return (input: Input = {}, call: CallOptions = {}) => events(settings, route, input, call);
  }
  const ask = (input: Input = {}, call: CallOptions = {}) => request(settings, route, input, call);
  return Object.assign(ask, {
    ...(route.frames && {
      frames: (input: Input = {}, call: CallOptions = {}) => frames(settings, route, input, call),
    }),
    ...(route.events && {
      events: (input: Input = {}, call: CallOptions = {}) =>
        events(settings, route, input, { ...call, headers: { ...call.headers, accept: 'text/event-stream' } }),
    }),
    ...(route.items !== undefined && {
      all: (input: Input = {}, call: CallOptions = {}) => all(ask, route.items as string, input, call),
    }),
  });
}

function request(settings: Settings, route: RouteRow, input: Input, call: CallOptions): Promise<unknown> {
  return send(settings, route, input, call, async (response) => {
    if (route.answers === 'bytes') return new Uint8Array(await response.arrayBuffer());
    if (route.answers === 'text') return await response.text();
    return route.answers === 'json' ? await response.json() : undefined;
  });
}

async function* all(
  ask: (input: Input, call: CallOptions) => Promise<unknown>,
  items: string,
  input: Input,
  call: CallOptions,
): AsyncGenerator {
  let cursor: unknown;
  do {
    const query = { ...input.query, ...(cursor !== undefined && { cursor }) };
    const page = (await ask({ ...input, query }, call)) as Record<string, unknown>;
    yield* page[items] as unknown[];
    cursor = page['next_cursor'];
  } while (cursor !== undefined && cursor !== null);
}

async function* events(settings: Settings, route: RouteRow, input: Input, call: CallOptions) {
  yield* parseEvents(await openBody(settings, route, input, call), call.onActivity);
}

async function* frames(settings: Settings, route: RouteRow, input: Input, call: CallOptions) {
  const headers = { ...call.headers, accept: 'text/event-stream' };
  yield* parseData(await openBody(settings, route, input, { ...call, headers }), call.onActivity);
}

function openBody(settings: Settings, route: RouteRow, input: Input, call: CallOptions) {
  return send(settings, route, input, call, ({ body }) => {
    if (body) return body;
    throw new SvcError({ status: 0, code: 'connection_error', message: 'the stream has no body' });
  });
}
