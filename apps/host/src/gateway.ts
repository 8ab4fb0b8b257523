import { type Client, type ClientOptions, createClient } from '@svc/sdk';
import type { Config } from './config.ts';

/** Whose key a command has, and where it is sent. */
type Access = Pick<Config, 'key' | 'url' | 'relayUrl' | 'profile'>;

/** A client of the gateway with the key of a command. A gateway that refuses the key of `svc login` is told with what to do. */
export function clientOf(
  access: Access,
  options: Omit<ClientOptions, 'baseUrl' | 'relayUrl' | 'apiKey' | 'fetch'>,
): Client {
  const { key, url, relayUrl } = access;
  const advice = signInAgain(access);
  return createClient({
    ...options,
    baseUrl: url,
    relayUrl,
    apiKey: key,
    ...(advice !== undefined && { fetch: adviseAt401(advice) }),
  });
}

/** What a person does about a key of `svc login` that is refused; undefined for another key. */
export const signInAgain = ({ profile, url }: Pick<Access, 'profile' | 'url'>): string | undefined =>
  profile === undefined
    ? undefined
    : `sign in again: svc login ${url}${profile === 'default' ? '' : ` --profile ${profile}`}`;

const adviseAt401 =
  (advice: string): typeof fetch =>
  async (...call) => {
    const response = await fetch(...call);
    if (response.status !== 401) return response;
    const body: unknown = await response.json().catch(() => undefined);
    const { error = {} } = (body ?? {}) as { error?: { message?: unknown } };
    const said = typeof error.message === 'string' ? error.message : 'the key is refused';
    const headers = new Headers(response.headers);
    for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name);
    const told = { error: { code: 'invalid_api_key', ...error, message: `${said}; ${advice}` } };
    return new Response(JSON.stringify(told), { status: 401, headers });
  };
