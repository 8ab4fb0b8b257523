import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';

type Addresses = Pick<Config, 'baseUrl' | 'hubUrl' | 'authUrl'>;

/** The addresses of this machine by number, as a `Host` header says them, with their port. */
const byNumber = /^(?:127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * What a proxy before this gateway says: the name and port of the request are its own then, and the person's are not
 * known.
 */
const ofProxies = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];

/** A request as far as it is looked at here. */
type Asked = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { socket: object };

/**
 * Sends browsers from a number of this machine to `localhost`, where that is the installation's name: there passkeys
 * work, and sign-ins and kept data of the two names would be two. Only pages that people open by hand are sent on:
 * programs ask at any name.
 */
export class OneName {
  readonly #isHere: boolean;
  readonly #pages: readonly string[];

  constructor({ baseUrl, hubUrl, authUrl }: Addresses) {
    this.#isHere = new URL(baseUrl).hostname === 'localhost';
    const named = [hubUrl, authUrl].map((url) => new URL(url)).filter((url) => url.hostname === 'localhost');
    this.#pages = named.map(({ pathname }) => pathname.replace(/\/$/, ''));
  }

  /**
   * Where a request has to go instead; undefined: it is answered here. The port stays, as a tunnel may have led to it,
   * and so does the scheme that is spoken there.
   */
  insteadOf({ method, url = '', headers, socket }: Asked): string | undefined {
    if (!this.#isHere || (method !== 'GET' && method !== 'HEAD')) return undefined;
    const numbered = byNumber.exec(headers.host ?? '');
    if (!numbered || headers.accept?.includes('text/html') !== true) return undefined;
    // A frame, an image or a script of a page that is open stays where the page is.
    if ((headers['sec-fetch-dest'] ?? 'document') !== 'document' || !this.#isPage(url)) return undefined;
    if (ofProxies.some((name) => headers[name] !== undefined)) return undefined;
    return `${(socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http'}://localhost${numbered[1] ?? ''}${url}`;
  }

  /** Sends a request on that has to go elsewhere; false: nothing was answered. */
  sendOn({ raw }: FastifyRequest, reply: FastifyReply): boolean {
    const to = this.insteadOf(raw);
    if (to !== undefined) void reply.header('cache-control', 'no-store').redirect(to, 302);
    return to !== undefined;
  }

  #isPage(url: string): boolean {
    const [path = ''] = url.split('?', 1);
    return path === '/' || path === '/docs' || this.#pages.some((page) => path === page || path.startsWith(`${page}/`));
  }
}
