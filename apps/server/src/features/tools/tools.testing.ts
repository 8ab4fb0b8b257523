import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SettingName } from '../../config.ts';

/** Answers one path. */
export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** A web of a test's own: every address of 127.0.0.0/8 is a site of it. */
export interface Web extends AsyncDisposable {
  readonly port: number;
  /** Method, host and path of each request, in their order. */
  readonly requests: string[];
  /** Lets a gateway reach it. */
  readonly settings: Partial<Record<SettingName, string>>;
  url(path: string, host?: string): string;
  /** Serves HTML, or what a function does, at a path of every site. */
  on(path: string, answer: string | Serve): void;
}

/** Sites that a gateway of a test may reach. */
const sites = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];

/** Starts the web; what is not served is 404. */
export async function openWeb(): Promise<Web> {
  const served = new Map<string, Serve>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://web.test');
    requests.push(`${request.method} ${request.headers.host?.split(':')[0]} ${request.url}`);
    const serve = served.get(pathname);
    if (serve) serve(request, response);
    else response.writeHead(404).end('nothing here');
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    requests,
    settings: { SVC_FETCH_ALLOW_HOSTS: sites.join(','), SVC_FETCH_PORTS: String(port) },
    url: (path, host = '127.0.0.1') => `http://${host}:${port}${path}`,
    on(path, answer) {
      served.set(path, typeof answer === 'string' ? html(answer) : answer);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Serves a page of HTML. */
export const html =
  (body: string, headers: Record<string, string> = {}): Serve =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body);
  };

/** Serves JSON. */
export const jsonAnswer =
  (body: unknown, status = 200): Serve =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

/** An article around some paragraphs. */
export const article = (title: string, paragraphs: readonly string[], head = ''): string =>
  `<!doctype html><html lang="en"><head><title>${title}</title>${head}</head><body><nav>Home About</nav><main><article>
  <h1>${title}</h1>${paragraphs.map((text) => `<p>${text}</p>`).join('\n')}</article></main><footer>Imprint</footer></body></html>`;
