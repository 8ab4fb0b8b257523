/** How a client reaches the gateway and who it is. */
export interface ClientOptions {
  /** `{base_url}` of the gateway; default: `SVC_BASE_URL` of the environment, else `http://localhost:8787`. */
  baseUrl?: string;
  /** `{relay_url}`, where relays are reached; default: `SVC_RELAY_URL` of the environment, else `{base_url}/relay`. */
  relayUrl?: string;
  /** API key (`svc_…`); not needed for open routes. Default: `SVC_API_KEY` of the environment. */
  apiKey?: string;
  /** Identity of this device, sent as `x-svc-device` with name and platform (document 1, Shared request headers). */
  device?: { id: string; name?: string; platform?: string };
  /** How often a call is made again that a 429 or 503 asks to repeat, or that never reached the gateway. Default: 2. */
  retries?: number;
  /**
   * Milliseconds that one attempt may take, of a stream until it begins; default 60,000, and as much longer as the call
   * itself says that it may take (`timeout_seconds`, `timeout_ms`, `wait_s`). 0: for ever.
   */
  timeoutMs?: number;
  /** Replaces the global `fetch`, for proxies and tests. */
  fetch?: typeof fetch;
  /** Hears that the gateway ignored fields of a body, once for each set of them; default: `console.warn`. */
  onWarning?: (message: string) => void;
}

/** The options with their defaults. */
export interface Settings {
  readonly baseUrl: string;
  readonly relayUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
  readonly warn: (message: string) => void;
}

/** Fills in what the environment says; a browser has none. */
export function settingsOf(options: ClientOptions): Settings {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const env = process?.env ?? {};
  const apiKey = options.apiKey ?? env['SVC_API_KEY'];
  const { device } = options;
  const baseUrl = (options.baseUrl ?? (env['SVC_BASE_URL'] || 'http://localhost:8787')).replace(/\/+$/, '');
  return {
    baseUrl,
    relayUrl: (options.relayUrl ?? (env['SVC_RELAY_URL'] || `${baseUrl}/relay`)).replace(/\/+$/, ''),
    headers: {
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      ...(device && { 'x-svc-device': device.id }),
      ...(device?.name && { 'x-svc-device-name': encodeHeader(device.name) }),
      ...(device?.platform && { 'x-svc-device-platform': encodeHeader(device.platform) }),
    },
    retries: options.retries ?? 2,
    timeoutMs: options.timeoutMs ?? 60_000,
    fetch: options.fetch ?? ((...call) => fetch(...call)),
    // oxlint-disable-next-line no-console
    warn: onceEach(options.onWarning ?? ((message) => console.warn(message))),
  };
}

const mostWarnings = 100;

/** Says each message once, and no more than a hundred. */
function onceEach(say: (message: string) => void): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message) || said.size >= mostWarnings) return;
    said.add(message);
    say(message);
  };
}

/** Header values are bytes: UTF-8 names travel as Latin-1 bytes of their encoding, which the gateway decodes. */
function encodeHeader(value: string): string {
  return Array.from(new TextEncoder().encode(value.replace(/[\r\n\0]/g, ' ')), (byte) =>
    String.fromCharCode(byte),
  ).join('');
}
