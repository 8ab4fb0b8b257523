import { bySystem } from '../../kernel/records/audit.ts';
import { http, type HttpAnswer, type TestAccount, type TestGateway } from '../../testing.ts';
import { createLogin } from '../auth/index.ts';

/** A signed-in browser of a test, whose person proved just now who they are. */
export interface TestLogin {
  id: string;
  token: string;
  /** Sends a request as one of our own pages does. */
  ask(method: string, path: string, body?: object, on?: { url: string }): Promise<HttpAnswer>;
  /** The same, for `<status> <code>`, or the status alone when it goes well. */
  said(method: string, path: string, body?: object, on?: { url: string }): Promise<string>;
}

/** Headers of a request that one of our own pages sends with the cookie of a login. */
export const headersOf = (token: string): Record<string, string> => ({
  cookie: `__Host-svc_login=${token}`,
  'sec-fetch-site': 'same-origin',
});

/** Signs a browser in. `provedAt`: milliseconds since the epoch; if unset: now. */
export async function signIn(
  gateway: Pick<TestGateway, 'kernel' | 'url'>,
  { id: accountId }: Pick<TestAccount, 'id'>,
  { provedAt }: { provedAt?: number } = {},
): Promise<TestLogin> {
  const { id, token } = await createLogin(gateway.kernel, {
    accountId,
    amr: ['pwd'],
    name: 'Firefox on Linux',
    platform: 'Linux',
    network: '127.0.0.1',
    by: bySystem,
    ...(provedAt !== undefined && { authTime: provedAt }),
  });
  const ask: TestLogin['ask'] = (method, path, body, on = gateway) =>
    http(on.url, path, { method, headers: headersOf(token), ...(body && { body }) });
  return {
    id,
    token,
    ask,
    async said(...request) {
      const { status, body } = await ask(...request);
      return status < 400 ? String(status) : `${status} ${body.error.code}`;
    },
  };
}
