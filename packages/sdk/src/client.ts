import { type Contract, contract, type Route, type RouteEvent, type RouteInput, type RouteOutput } from '@svc/contract';
import { SvcError } from './error.ts';
import { parseEvents } from './events.ts';

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
  /** Called for every chunk of a stream, heartbeats included. */
  onActivity?: () => void;
}

type Operation<R extends Route> =
  unknown extends RouteInput<R>
    ? (input?: Record<string, never>, options?: CallOptions) => Answer<R>
    : (input: Omit<RouteInput<R>, 'headers'>, options?: CallOptions) => Answer<R>;
type Answer<R extends Route> = R extends { events: object } ? AsyncGenerator<RouteEvent<R>> : Promise<RouteOutput<R>>;

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
      Object.entries(routes as Record<string, Route>).map(([verb, route]) => [
        verb,
        route.events
          ? (input?: Input, call?: CallOptions) => stream(options, route, input ?? {}, call ?? {})
          : (input?: Input, call?: CallOptions) => request(options, route, input ?? {}, call ?? {}),
      ]),
    ),
  ]);
  return Object.fromEntries(features) as Client;
}

async function request(options: ClientOptions, route: Route, input: Input, call: CallOptions): Promise<unknown> {
  const response = await send(options, route, input, call);
  if (response.status === 204) return undefined;
  if (route.download) return new Uint8Array(await response.arrayBuffer());
  return route.plain ? response.text() : response.json();
}

async function* stream(options: ClientOptions, route: Route, input: Input, call: CallOptions) {
  const response = await send(options, route, input, call);
  if (!response.body) throw new SvcError({ status: 0, code: 'connection_error', message: 'the stream has no body' });
  yield* parseEvents(response.body, call.onActivity);
}

async function send(options: ClientOptions, route: Route, input: Input, call: CallOptions): Promise<Response> {
  const { device } = options;
  const headers: Record<string, string> = {};
  if (options.apiKey) headers['authorization'] = `Bearer ${options.apiKey}`;
  if (device) {
    headers['x-svc-device'] = device.id;
    if (device.name) headers['x-svc-device-name'] = encodeHeader(device.name);
    if (device.platform) headers['x-svc-device-platform'] = encodeHeader(device.platform);
  }
  if (call.idempotencyKey) headers['idempotency-key'] = call.idempotencyKey;
  const init: RequestInit = { method: route.method, headers };
  if (route.upload !== undefined) {
    headers['content-type'] = 'application/octet-stream';
    init.body = input.body as Uint8Array<ArrayBuffer>;
  } else if (input.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(input.body);
  }
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
  const encoded = (name: string): string => encodeURIComponent(String(params[name]));
  return route.path.replace(/\{(\w+)\}/g, (whole, name: string, at: number) =>
    // A path within the path keeps its slashes.
    route.rest && at + whole.length === route.path.length ? encoded(name).replaceAll('%2F', '/') : encoded(name),
  );
}

function search(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}
