import type { FastifyReply, FastifyRequest } from 'fastify';

/** What a page may send: routes refuse by themselves what they do not take. */
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const preflightSeconds = 7_200;

/**
 * Pages of other origins that may call the API (`SVC_CORS_ORIGINS`). They send a bearer key that they were given: no cookie
 * counts here, so that a page acts for nobody who did not hand it one.
 */
export class NamedOrigins {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** The headers by which a browser shows an answer to the page that asked. */
  headersFor(origin: string | undefined): Record<string, string> {
    if (this.#origins.size === 0) return {};
    // Without it a cache would hand the answer for one page to another one.
    const varies = { vary: 'Origin' };
    if (origin === undefined || !this.#origins.has(origin)) return varies;
    return { ...varies, 'access-control-allow-origin': origin, 'access-control-expose-headers': '*' };
  }

  /** Sets them, also of an answer that will be a refusal; answers whether the request is a preflight that is to be answered. */
  admit(request: FastifyRequest, reply: FastifyReply): boolean {
    // A route that is open to every page says so itself.
    if (this.#origins.size === 0 || request.routeOptions.config?.isOpenToPages === true) return false;
    const { origin, ...headers } = request.headers;
    reply.headers(this.headersFor(origin));
    const asked = headers['access-control-request-method'];
    if (request.method !== 'OPTIONS' || asked === undefined || !this.#origins.has(origin ?? '')) return false;
    reply.headers({
      'access-control-allow-methods': methods,
      // By name: `*` leaves out `Authorization`.
      'access-control-allow-headers': headers['access-control-request-headers'] ?? '*',
      'access-control-max-age': String(preflightSeconds),
      ...(headers['access-control-request-private-network'] === 'true' && {
        'access-control-allow-private-network': 'true',
      }),
    });
    return true;
  }
}
