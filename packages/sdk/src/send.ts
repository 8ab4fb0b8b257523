import { SvcError } from './error.ts';
import { sleep } from './pause.ts';
import type { RouteRow } from './routes.ts';
import type { Settings } from './settings.ts';

/** Per-call settings. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Sent as `Idempotency-Key`: a repeat within 24 h answers the stored response. */
  idempotencyKey?: string;
  /** Further request headers, such as `x-request-id`; they win over the client's own. */
  headers?: Readonly<Record<string, string>>;
  /** In place of the client's. */
  retries?: number;
  /** In place of the client's. */
  timeoutMs?: number;
  /** Called with status and headers of the answer, before its body is read. */
  onResponse?: (response: { status: number; headers: Headers }) => void;
  /** Called for every chunk of a stream, heartbeats included. */
  onActivity?: () => void;
}

/** Input of a call. */
export interface Input {
  params?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
}

const longestWaitMs = 60_000;

/**
 * Makes a call and reads its answer, again where that is safe and may help; throws `SvcError` for every failure but the
 * caller's own abort.
 */
export async function send<T>(
  settings: Settings,
  route: RouteRow,
  input: Input,
  call: CallOptions,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  const retries = call.retries ?? settings.retries;
  const request = requestOf(settings, route, input, call, retries > 0);
  let attempt = 0;
  let inFlightMs = 0;
  for (;;) {
    try {
      return await once(settings, route, request, call, read);
    } catch (error) {
      if (!(error instanceof SvcError) || retries === 0) throw error;
      if (error.code === 'idempotency_in_flight') {
        // The gateway still works on the attempt whose answer was lost: that takes no longer than an attempt may.
        if (request.timeoutMs > 0 && inFlightMs > request.timeoutMs) throw error;
        const waitMs = 1_000 * (error.retryAfter ?? 1);
        inFlightMs += waitMs;
        await sleep(waitMs, call.signal);
        continue;
      }
      const waitMs = attempt < retries ? waitOf(error, request.isRepeatable, attempt) : undefined;
      if (waitMs === undefined) throw error;
      attempt += 1;
      await sleep(waitMs, call.signal);
    }
  }
}

interface Request {
  url: string;
  init: RequestInit;
  timeoutMs: number;
  /** Doing it twice does no more than once; a PATCH sets fields, as PUT does. */
  isRepeatable: boolean;
}

function requestOf(settings: Settings, route: RouteRow, input: Input, call: CallOptions, retries: boolean): Request {
  const headers = new Headers(settings.headers);
  const init: RequestInit = { method: route.method, headers };
  if (route.takes === 'json') {
    if (input.body !== undefined) {
      headers.set('content-type', 'application/json');
      init.body = JSON.stringify(input.body);
    }
  } else if (route.takes !== undefined && input.body !== undefined) {
    headers.set('content-type', typeof input.body === 'string' ? 'text/plain' : 'application/octet-stream');
    init.body = input.body as string | Uint8Array<ArrayBuffer>;
    // Of the ping routes, whose body is for POST.
    if (route.takes === 'anything') init.method = 'POST';
  }
  // An answer in frames is kept whole by the gateway for a key: not without being asked.
  const isKept = route.idempotent && call.headers?.['accept'] !== 'text/event-stream';
  const key = call.idempotencyKey ?? (retries && isKept ? randomKey() : undefined);
  if (key !== undefined) headers.set('idempotency-key', key);
  for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
  return {
    url:
      (route.at === 'relay' ? settings.relayUrl : settings.baseUrl) +
      pathOf(route, input.params ?? {}) +
      search(input.query ?? {}),
    init,
    timeoutMs: timeoutOf(call.timeoutMs ?? settings.timeoutMs, input),
    isRepeatable: key !== undefined || ['GET', 'PUT', 'PATCH', 'DELETE'].includes(init.method as string),
  };
}

/** `crypto.randomUUID` is missing in pages of plain HTTP. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A call that says how long it takes has that beside the client's own time. */
function timeoutOf(timeoutMs: number, { query = {}, body }: Input): number {
  if (timeoutMs === 0) return 0;
  const said = { ...query, ...(body as Record<string, unknown> | undefined) };
  const ms = (name: string, unit: number): number => (typeof said[name] === 'number' ? said[name] * unit : 0);
  return timeoutMs + Math.max(ms('timeout_seconds', 1_000), ms('timeout_ms', 1), ms('wait_s', 1_000));
}

async function once<T>(
  settings: Settings,
  route: RouteRow,
  { url, init, timeoutMs }: Request,
  call: CallOptions,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = timeoutMs === 0 ? undefined : setTimeout(() => late.abort(), timeoutMs);
  const signal = call.signal ? AbortSignal.any([call.signal, late.signal]) : late.signal;
  try {
    const response = await settings.fetch(url, { ...init, signal });
    call.onResponse?.(response);
    const ignored = response.headers.get('x-svc-ignored-fields');
    if (ignored !== null) settings.warn(`svc: ${route.method} ${route.path} ignores these fields: ${ignored}`);
    if (response.ok || route.records?.includes(response.status)) return await read(response);
    throw await SvcError.fromResponse(response);
  } catch (cause) {
    if (cause instanceof SvcError || call.signal?.aborted) throw cause;
    if (late.signal.aborted) {
      const message = `no answer from ${settings.baseUrl} within ${timeoutMs} ms`;
      throw new SvcError({ status: 0, code: 'timeout', message, cause });
    }
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    throw new SvcError({
      status: 0,
      code: 'connection_error',
      message: `cannot reach ${settings.baseUrl}: ${reason}`,
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Statuses by which a proxy says that it had no answer for us. */
const fromProxy = [408, 502, 503, 504];

/**
 * How long to wait before the same call is made again; undefined: it is not. A 429 or 503 that says `Retry-After` asks for
 * it, unless it says `x-should-retry: false`; a call without an answer of the gateway is repeated only if that does nothing
 * twice.
 */
function waitOf(error: SvcError, isRepeatable: boolean, attempt: number): number | undefined {
  const backOffMs = 500 * 2 ** attempt * (1 + Math.random());
  if ((error.status === 429 || error.status === 503) && error.retryAfter !== undefined) {
    const askedMs = error.retryAfter * 1_000;
    // Who asks for more than a minute tells the caller, not a loop.
    return askedMs > longestWaitMs || !error.mayRepeat ? undefined : Math.max(askedMs, backOffMs);
  }
  const isLost =
    error.code === 'connection_error' ||
    error.code === 'timeout' ||
    (error.code === 'unknown' && fromProxy.includes(error.status));
  return isLost && isRepeatable ? backOffMs : undefined;
}

function pathOf({ path }: RouteRow, params: Input['params'] & object): string {
  return path.replace(/\{(\w+)(\*?)\}/g, (_, name: string, rest: string) => {
    const value = params[name];
    if (value === undefined || value === null || value === '') throw new TypeError(`params.${name} is missing`);
    // A URL drops such a part together with the one before it, and the request would go to another route.
    if ((rest === '' ? [String(value)] : String(value).split('/')).some((part) => part === '.' || part === '..'))
      throw new TypeError(`params.${name} may not be, or go through, . or ..`);
    const encoded = encodeURIComponent(value);
    // A path within the path keeps its slashes.
    return rest === '' ? encoded : encoded.replaceAll('%2F', '/');
  });
}

function search(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}
