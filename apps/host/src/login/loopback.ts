import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CommandError } from '../failure.ts';
import type { Platform } from './discovery.ts';

/** Waits for the browser of this machine to come back from the identity provider (RFC 8252, 7.3). */
interface Loopback {
  redirectUri: string;
  /** The code that it brings; rejects with `CommandError` when it brings a refusal. */
  code: Promise<string>;
  close(): void;
}

const path = '/callback';
const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>svc</title></head>
<body><p>You can close this window and go back to the terminal.</p></body></html>
`;
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-length': Buffer.byteLength(page),
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  connection: 'close',
};

/** Listens on 127.0.0.1 at a port of the system's choice until it is closed. `state`: what the answer has to bring back. */
export async function openLoopback({ issuer, namesIssuer }: Platform, state: string): Promise<Loopback> {
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  // Nobody waits for it after a Ctrl-C.
  code.catch(() => {});
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const query = queryOf(request, (server.address() as AddressInfo | null)?.port);
    if (!query) return end(response, 404);
    const answer = readAnswer(query, { issuer, namesIssuer, state });
    // Another page of this machine's browser may call as well: it does not know the state, and ends nothing.
    if (answer === 'strange') return end(response, 400);
    response.writeHead(200, pageHeaders).end(page, () => {
      if ('code' in answer) resolve(answer.code);
      else reject(new CommandError(answer.fault));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    code,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-length': 0, connection: 'close' }).end();
}

/** The query of a call of ours; undefined for any other request, and for one that came by another name of this machine. */
function queryOf(
  { method, headers, url = '' }: IncomingMessage,
  port: number | undefined,
): URLSearchParams | undefined {
  if (method !== 'GET' || headers.host !== `127.0.0.1:${port}` || url.split('?')[0] !== path) return undefined;
  return new URLSearchParams(url.slice(path.length));
}

/** What the browser brings: a code, a refusal, or what is not meant for this sign-in. */
export function readAnswer(
  query: URLSearchParams,
  { issuer, namesIssuer, state }: Pick<Platform, 'issuer' | 'namesIssuer'> & { state: string },
): { code: string } | { fault: string } | 'strange' {
  const one = (name: string): string | undefined =>
    query.getAll(name).length === 1 ? (query.get(name) ?? '') : undefined;
  if (!sameSecret(one('state') ?? '', state)) return 'strange';
  // An answer of another provider is not for this one (RFC 9207).
  const isOther = query.has('iss') ? one('iss') !== issuer : namesIssuer;
  if (isOther) return { fault: 'the answer in the browser came from another identity provider; nothing was signed in' };
  const error = query.get('error');
  if (error === 'access_denied') return { fault: 'it was not allowed in the browser; nothing was signed in' };
  const description = query.get('error_description');
  if (error !== null)
    return { fault: `the platform refused: ${error}${description === null ? '' : `: ${description}`}` };
  const code = one('code');
  return code ? { code } : 'strange';
}

function sameSecret(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(a as Buffer, b as Buffer);
}
