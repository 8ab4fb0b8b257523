import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { isIP, Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { addressOf, type Place } from '../../config.servers.ts';

/** How a connection to the database is encrypted, from its URL. */
export interface DatabaseTls {
  /** Whether a server without TLS is accepted. */
  optional: boolean;
  /** TLS from the first byte, without asking. */
  direct: boolean;
  /** Checks of the server's certificate. */
  check: Pick<ConnectionOptions, 'rejectUnauthorized' | 'ca' | 'checkServerIdentity'>;
}

/** `SSLRequest`: the server answers one byte, `S` or `N`. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/**
 * Reads the TLS options of a database URL: `sslmode` as in libpq (`ssl` is the same), `sslrootcert` (a file of authorities, or
 * `system`), `sslnegotiation=direct`. Answers the URL without them, since we open TLS ourselves: that of postgres.js has neither
 * the watchdog nor the work-arounds of `guarded`.
 */
export function splitTls(url: string): { url: string; tls: DatabaseTls | undefined } {
  const at = url.indexOf('?');
  if (at < 0) return { url, tls: undefined };
  const query = new URLSearchParams(url.slice(at + 1));
  const take = (name: string): string | undefined => {
    const value = query.get(name) ?? undefined;
    query.delete(name);
    return value;
  };
  const authorities = take('sslrootcert');
  const direct = take('sslnegotiation') === 'direct';
  const [sslMode, ssl] = [take('sslmode'), take('ssl')];
  const mode = sslMode ?? ssl ?? (authorities ? 'verify-full' : undefined);
  const rest = query.toString();
  const plain = `${url.slice(0, at)}${rest && `?${rest}`}`;
  if (mode === undefined || mode === 'disable' || mode === 'false') return { url: plain, tls: undefined };
  return {
    url: plain,
    tls: { optional: mode === 'prefer' || mode === 'allow', direct, check: checkOf(mode, authorities) },
  };
}

function checkOf(mode: string, authorities: string | undefined): DatabaseTls['check'] {
  const isUnchecked = authorities === undefined && ['require', 'prefer', 'allow'].includes(mode);
  if (isUnchecked) return { rejectUnauthorized: false };
  return {
    ...(authorities !== undefined && authorities !== 'system' && { ca: readFileSync(authorities) }),
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  };
}

/** Connects to the server, with TLS, within `limitMs`; throws what kept it from it. */
export async function connectTls(place: Place, tls: DatabaseTls, limitMs: number): Promise<Socket> {
  const signal = AbortSignal.timeout(limitMs);
  const socket = new Socket();
  try {
    socket.connect(addressOf(place));
    await once(socket, 'connect', { signal });
    if (!tls.direct && !(await offersTls(socket, signal))) {
      if (tls.optional) return socket;
      throw new Error(`the database at ${place.host}:${place.port} offers no TLS`);
    }
    return await secure(socket, place, tls, signal);
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? Object.assign(new Error('the database says nothing'), { code: 'ETIMEDOUT' }) : error;
  }
}

async function offersTls(socket: Socket, signal: AbortSignal): Promise<boolean> {
  socket.write(sslRequest);
  const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
  // More than the one byte would have been sent before TLS, by somebody in between.
  if (answer.length !== 1) throw new Error('the database answered more than was asked before TLS');
  const isOffered = answer[0] === 0x53;
  // TLS reads from here on; without it postgres.js does.
  if (isOffered) socket.pause();
  return isOffered;
}

async function secure(socket: Socket, { host }: Place, tls: DatabaseTls, signal: AbortSignal): Promise<TLSSocket> {
  const secured = connect({
    socket,
    ...(isIP(host) === 0 && { servername: host }),
    ...(tls.direct && { ALPNProtocols: ['postgresql'] }),
    host,
    ...tls.check,
  });
  await once(secured, 'secureConnect', { signal });
  return secured;
}
