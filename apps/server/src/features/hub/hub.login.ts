import { inject } from 'light-my-request';
import * as client from 'openid-client';
import type { Kernel } from '../../kernel/kernel.ts';
import { alike } from '../../kernel/base/spellings.ts';
import { type AuthServer, hubClient } from '../auth/index.ts';

/** Kept by the browser between the two halves of a sign-in, sealed. */
interface Flow {
  state: string;
  nonce: string;
  verifier: string;
  returnTo: string;
  /** Milliseconds since the epoch. */
  until: number;
}

const flowPurpose = { purpose: 'hub-flow' };
export const flowSeconds = 600;

/** Who signed in, as the provider says it. */
interface SignedIn {
  accountId: string;
  /** Seconds since the epoch. */
  authTime: number;
  amr: string[];
}

/** The hub as a client of the identity provider. */
export class HubClient {
  readonly #kernel: Kernel;
  readonly #server: AuthServer;

  constructor(kernel: Kernel, server: AuthServer) {
    this.#kernel = kernel;
    this.#server = server;
  }

  /** Begins a sign-in for a browser that came to `host`: where to send it, and what it keeps meanwhile, under its `state`. */
  async begin(host: string, returnTo: string): Promise<{ to: string; state: string; kept: string }> {
    const config = await this.#configuration(host);
    const seconds = Math.floor(this.#kernel.clock.now() / 1000);
    const flow: Flow = {
      // The time first: of two sign-ins in a browser the older one is known by its name.
      state: `${seconds.toString(36)}-${client.randomState()}`,
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      returnTo,
      until: this.#kernel.clock.now() + flowSeconds * 1000,
    };
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: `${this.hubAt(host)}/callback`,
      scope: 'openid',
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
    });
    const kept = this.#kernel.keyring.seal(flowPurpose, Buffer.from(JSON.stringify(flow))).toString('base64url');
    return { to: url.href, state: flow.state, kept };
  }

  /** Ends it: exchanges the code; undefined for an answer that is not of this browser's sign-in, or came too late. */
  async end(
    host: string,
    query: string,
    kept: string,
    address: string,
  ): Promise<(SignedIn & { returnTo: string }) | undefined> {
    const flow = this.#open(kept);
    if (!flow) return undefined;
    const config = await this.#configuration(host, address);
    try {
      const tokens = await client.authorizationCodeGrant(config, new URL(`${this.hubAt(host)}/callback?${query}`), {
        pkceCodeVerifier: flow.verifier,
        expectedState: flow.state,
        expectedNonce: flow.nonce,
        idTokenExpected: true,
      });
      const claims: Record<string, unknown> = { ...tokens.claims() };
      const { sub, auth_time: authTime, amr } = claims;
      const methods = Array.isArray(amr) ? amr.map(String) : [];
      return { accountId: String(sub), authTime: Number(authTime ?? 0), amr: methods, returnTo: flow.returnTo };
    } catch (err) {
      this.#kernel.log.info({ err }, 'a sign-in was not finished');
      return undefined;
    }
  }

  /** `{hub_url}` in the spelling by which the browser came. */
  hubAt(host: string): string {
    const { hubUrl } = this.#kernel.config;
    return alike(hubUrl).find((url) => new URL(url).host === host) ?? hubUrl;
  }

  #open(kept: string): Flow | undefined {
    const { keyring, clock } = this.#kernel;
    try {
      const flow = JSON.parse(keyring.open(flowPurpose, Buffer.from(kept, 'base64url')).toString()) as Flow;
      return flow.until > clock.now() ? flow : undefined;
    } catch {
      return undefined;
    }
  }

  /** The provider is this process: neither its own name nor its certificate has to work from here. */
  async #configuration(host: string, address = '127.0.0.1'): Promise<client.Configuration> {
    const { authUrl } = this.#kernel.config;
    const at = alike(authUrl).find((url) => new URL(url).host === host) ?? authUrl;
    const config = new client.Configuration(
      {
        issuer: authUrl,
        authorization_endpoint: `${at}/authorize`,
        token_endpoint: `${authUrl}/token`,
        jwks_uri: `${authUrl}/jwks`,
        id_token_signing_alg_values_supported: ['ES256'],
        authorization_response_iss_parameter_supported: true,
      },
      hubClient,
      { id_token_signed_response_alg: 'ES256' },
      client.None(),
    );
    config[client.customFetch] = (url, options) => this.#fetch(url, options, address);
    if (authUrl.startsWith('http:')) client.allowInsecureRequests(config);
    return config;
  }

  /** For the browser at `address`: what is counted is counted for it, and not for all browsers at once. */
  async #fetch(url: string, options: client.CustomFetchOptions, address: string): Promise<Response> {
    const kernel = this.#kernel;
    const { pathname, search, host } = new URL(url);
    const base = new URL(kernel.config.authUrl).pathname.replace(/\/$/, '');
    const answer = await inject(
      (request, response) =>
        void this.#server.handle({
          request,
          response,
          rest: pathname.slice(base.length + 1),
          traceId: 'hub',
          address,
          kernel,
        }),
      {
        method: options.method as 'GET' | 'POST',
        url: `${pathname}${search}`,
        headers: { ...options.headers, host },
        ...(options.body instanceof URLSearchParams && { payload: options.body.toString() }),
      },
    );
    return new Response(new Uint8Array(answer.rawPayload), {
      status: answer.statusCode,
      headers: { 'content-type': answer.headers['content-type'] ?? '' },
    });
  }
}
