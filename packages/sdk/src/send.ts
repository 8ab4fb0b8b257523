import { SvcError } from './error.ts';
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

/** An answer, whose time runs until `done`: after its body, of a stream at its beginning. */
interface Answer {
  response: Response;
  readonly done: () => void;
  /** The error for a failed reading of the body. */
  readonly failure: (cause: unknown) => unknown;
}

const longestWaitMs = 60_000;

/** Makes a call, again where that is safe and may help; throws `SvcError` for every failure but the caller's own abort. */
export async function send(settings: Settings, route: RouteRow, input: Input, call: CallOptions): Promise<Answer> {
  const retries = call.retries ?? settings.retries;
  const request = requestOf(settings, route, input, call, retries > 0);
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await once(settings, route, request, call);
    } catch (error) {
      const waitMs = attempt < retries ? waitOf(error, request.isRepeatable, attempt) : undefined;
      if (waitMs === undefined) throw error;
      await sleep(waitMs, call.signal);
    }
  }
}

interface Request {
  url: string;
  init: RequestInit;
  timeoutMs: number;
  /** Doing it twice does no more than once. */
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
  const key = call.idempotencyKey ?? (retries && route.idempotent && !route.frames ? randomKey() : undefined);
  if (key !== undefined) headers.set('idempotency-key', key);
  for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
  return {
    url: settings.baseUrl + pathOf(route, input.params ?? {}) + search(input.query ?? {}),
    init,
    timeoutMs: timeoutOf(call.timeoutMs ?? settings.timeoutMs, input),
    isRepeatable: key !== undefined || ['GET', 'PUT', 'DELETE'].includes(init.method as string),
  };
}

/** `crypto.randomUUID` is missing in pages of plain HTTP. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A call that says how long it takes has that beside the client's own time. */
function timeoutOf(timeoutMs: number, { query = {}, body }: Input): number {
  if (timeoutMs === 0) return 0;
  const said = { ...query, ...(body as Record<string, unknown> | undefined) };
  const ms = (name: string, unit: number): number => (typeof said[name] === 'number' ? said[name] * unit : 0);
  return timeoutMs + Math.max(ms('timeout_seconds', 1_000), ms('timeout_ms', 1), ms('wait_s', 1_000));
}

async function once(settings: Settings, route: RouteRow, request: Request, call: CallOptions): Promise<Answer> {
  const { url, init, timeoutMs } = request;
  const late = new AbortController();
  const timer = timeoutMs === 0 ? undefined : setTimeout(() => late.abort(), timeoutMs);
  const done = (): void => clearTimeout(timer);
  const signal = call.signal ? AbortSignal.any([call.signal, late.signal]) : late.signal;
  const failure = (cause: unknown): unknown => {
    done();
    if (call.signal?.aborted) return cause;
    if (late.signal.aborted) {
      const message = `no answer from ${settings.baseUrl} within ${timeoutMs} ms`;
      return new SvcError({ status: 0, code: 'timeout', message, cause });
    }
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    const message = `cannot reach ${settings.baseUrl}: ${reason}`;
    return new SvcError({ status: 0, code: 'connection_error', message, cause });
  };
  let response: Response;
  try {
    response = await settings.fetch(url, { ...init, signal });
  } catch (cause) {
    throw failure(cause);
  }
  call.onResponse?.(response);
  const ignored = response.headers.get('x-svc-ignored-fields');
  if (ignored !== null) settings.warn(`svc: ${route.method} ${route.path} ignores these fields: ${ignored}`);
  if (response.ok || route.records?.includes(response.status)) return { response, done, failure };
  const error = await SvcError.fromResponse(response);
  done();
  throw error;
}

/**
 * How long to wait before the same call is made again; undefined: it is not. A 429 or 503 that says `Retry-After` asks for
 * it, unless it says `x-should-retry: false`; what never came to an answer is repeated only if that does nothing twice.
 */
function waitOf(error: unknown, isRepeatable: boolean, attempt: number): number | undefined {
  if (!(error instanceof SvcError)) return undefined;
  const backOffMs = 500 * 2 ** attempt * (1 + Math.random());
  if (error.status === 429 || error.status === 503) {
    if (error.retryAfter === undefined || !error.mayRepeat) return undefined;
    const askedMs = error.retryAfter * 1_000;
    // Who asks for more than a minute tells the caller, not a loop.
    return askedMs > longestWaitMs ? undefined : Math.max(askedMs, backOffMs);
  }
  return error.code === 'connection_error' && isRepeatable ? backOffMs : undefined;
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

function pathOf({ path }: RouteRow, params: Input['params'] & object): string {
  return path.replace(/\{(\w+)(\*?)\}/g, (_, name: string, rest: string) => {
    const value = params[name];
    if (value === undefined || value === null || value === '') throw new TypeError(`params.${name} is missing`);
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
