import {
  type Contract,
  contract,
  type Route,
  type RouteEvent,
  type RouteFrame,
  type RouteInput,
  type RouteOutput,
  restParameter,
} from '@svc/contract';
import { SvcError } from './error.ts';
import { parseData, parseEvents } from './events.ts';

/** How a client reaches the gateway and who it is. */
export interface ClientOptions {
  /** `{base_url}` of the gateway, without a trailing slash. */
  baseUrl: string;
  /** API key (`svc_…`); not needed for open routes. */
  apiKey?: string;
  /** Identity of this device, sent as `x-svc-device` with name and platform (document 1, Shared request headers). */
  device?: { id: string; name?: string; platform?: string };
  /** Replaces the global `fetch`, for proxies and tests. */
  fetch?: typeof fetch;
}

/** Per-call settings. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Sent as `Idempotency-Key`: a repeat within 24 h answers the stored response. */
  idempotencyKey?: string;
  /** Further request headers, such as `x-request-id`; they win over the client's own. */
  headers?: Readonly<Record<string, string>>;
  /** Called with status and headers of the answer, before its body is read. */
  onResponse?: (response: { status: number; headers: Headers }) => void;
  /** Called for every chunk of a stream, heartbeats included. */
  onActivity?: () => void;
}

type Parameters<R extends Route> =
  unknown extends RouteInput<R>
    ? [input?: Record<string, never>, options?: CallOptions]
    : {} extends Omit<RouteInput<R>, 'headers'>
      ? [input?: Omit<RouteInput<R>, 'headers'>, options?: CallOptions]
      : [input: Omit<RouteInput<R>, 'headers'>, options?: CallOptions];
type Returned<R extends Route> = R['answers']['kind'] extends 'events'
  ? AsyncGenerator<RouteEvent<R>>
  : Promise<RouteOutput<R>>;
type Operation<R extends Route> = ((...call: Parameters<R>) => Returned<R>) &
  ([RouteFrame<R>] extends [never]
    ? unknown
    : {
        /** The answer in frames, as they come (`Accept: text/event-stream`). */
        frames(...call: Parameters<R>): AsyncGenerator<RouteFrame<R>>;
      });

/** `client.<feature>.<verb>(input)` for every route of the contract. */
export type Client = {
  [F in keyof Contract]: { [V in keyof Contract[F]]: Contract[F][V] extends Route ? Operation<Contract[F][V]> : never };
};

interface Input {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
}

/** Makes a client whose operations are derived from the route table; failures throw `SvcError`. */
export function createClient(options: ClientOptions): Client {
  const features = Object.entries(contract).map(([feature, routes]) => [
    feature,
    Object.fromEntries(
      Object.entries(routes as Record<string, Route>).map(([verb, route]) => [verb, operation(options, route)]),
    ),
  ]);
  return Object.fromEntries(features) as Client;
}

function operation(options: ClientOptions, route: Route) {
  if (route.answers.kind === 'events') {
    return (input: Input = {}, call: CallOptions = {}) => events(options, route, input, call);
  }
  const ask = (input: Input = {}, call: CallOptions = {}) => request(options, route, input, call);
  if (route.answers.kind !== 'json' || !route.answers.frames) return ask;
  return Object.assign(ask, {
    frames: (input: Input = {}, call: CallOptions = {}) => frames(options, route, input, call),
  });
}

async function request(options: ClientOptions, route: Route, input: Input, call: CallOptions): Promise<unknown> {
  const response = await send(options, route, input, call);
  const { kind } = route.answers;
  if (kind === 'bytes') return new Uint8Array(await response.arrayBuffer());
  if (kind === 'text') return response.text();
  return kind === 'json' ? response.json() : undefined;
}

async function* events(options: ClientOptions, route: Route, input: Input, call: CallOptions) {
  yield* parseEvents(await openBody(options, route, input, call), call.onActivity);
}

async function* frames(options: ClientOptions, route: Route, input: Input, call: CallOptions) {
  const headers = { ...call.headers, accept: 'text/event-stream' };
  yield* parseData(await openBody(options, route, input, { ...call, headers }), call.onActivity);
}

async function openBody(options: ClientOptions, route: Route, input: Input, call: CallOptions) {
  const { body } = await send(options, route, input, call);
  if (!body) throw new SvcError({ status: 0, code: 'connection_error', message: 'the stream has no body' });
  return body;
}

function headersOf({ apiKey, device }: ClientOptions): Record<string, string> {
  return {
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(device && { 'x-svc-device': device.id }),
    ...(device?.name && { 'x-svc-device-name': encodeHeader(device.name) }),
    ...(device?.platform && { 'x-svc-device-platform': encodeHeader(device.platform) }),
  };
}

async function send(options: ClientOptions, route: Route, input: Input, call: CallOptions): Promise<Response> {
  const headers = new Headers(headersOf(options));
  const init: RequestInit = { method: route.method, headers };
  if (route.takes?.kind === 'bytes') {
    headers.set('content-type', 'application/octet-stream');
    init.body = input.body as Uint8Array<ArrayBuffer>;
  } else if (input.body !== undefined) {
    headers.set('content-type', 'application/json');
    init.body = JSON.stringify(input.body);
  }
  if (call.idempotencyKey) headers.set('idempotency-key', call.idempotencyKey);
  for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
  if (call.signal) init.signal = call.signal;
  const url = options.baseUrl.replace(/\/+$/, '') + path(route, input.params ?? {}) + search(input.query ?? {});
  let response: Response;
  try {
    response = await (options.fetch ?? fetch)(url, init);
  } catch (cause) {
    if (call.signal?.aborted) throw cause;
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    const message = `cannot reach ${options.baseUrl}: ${reason}`;
    throw new SvcError({ status: 0, code: 'connection_error', message, cause });
  }
  call.onResponse?.(response);
  if (!response.ok) throw await SvcError.fromResponse(response);
  return response;
}

/** Header values are bytes: UTF-8 names travel as Latin-1 bytes of their encoding, which the gateway decodes. */
function encodeHeader(value: string): string {
  return Array.from(new TextEncoder().encode(value.replace(/[\r\n\0]/g, ' ')), (byte) =>
    String.fromCharCode(byte),
  ).join('');
}

function path(route: Route, params: Record<string, unknown>): string {
  const rest = restParameter(route);
  return route.path.replace(/\{(\w+)\*?\}/g, (_, name: string) => {
    const encoded = encodeURIComponent(String(params[name]));
    // A path within the path keeps its slashes.
    return name === rest ? encoded.replaceAll('%2F', '/') : encoded;
  });
}

function search(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}
