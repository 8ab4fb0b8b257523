/** Where a server of the database listens; a host with a slash is the folder of its socket. */
export interface Place {
  host: string;
  port: number;
}

/** The address to connect to. */
export const addressOf = ({ host, port }: Place): Place | { path: string } =>
  host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };

const usualPort = 5432;
/** Up to the servers, the servers, the rest. */
const parts = /^([a-z]+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/is;

/**
 * The servers that a database URL names, as in `postgres://svc@one:5432,[::1]:5433/svc` or, for the folder of a socket,
 * `postgres://svc@%2Frun%2Fpostgresql/svc`. None when it names nothing: postgres.js fills that in.
 */
export function placesOf(url: string): Place[] {
  const named = parts.exec(url)?.[2] ?? '';
  if (named === '') return [];
  return named.split(',').map((server) => {
    const { hostname, port } = new URL(`tcp://${server}`);
    const host = decodeURIComponent(hostname).replace(/^\[|\]$/g, '');
    return { host, port: port === '' ? usualPort : Number(port) };
  });
}

/** The same URL with this server alone; without a server as it is. */
export function urlOf(url: string, place: Place | undefined): string {
  if (!place) return url;
  const { host, port } = place;
  const server = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  return url.replace(parts, (_, before: string, __, rest: string) => `${before}${server}:${port}${rest}`);
}

/** Whether every server of the URL can be read. */
export function namesServers(url: string): boolean {
  try {
    return URL.canParse(urlOfFirst(url)) && placesOf(url).every(({ host, port }) => host !== '' && port > 0);
  } catch {
    return false;
  }
}

/** A URL of several servers with the first one alone: what `URL` can read. Any other text stays as it is. */
export function urlOfFirst(url: string): string {
  return url.replace(parts, (_, before: string, servers: string, rest: string) => {
    const [first = ''] = servers.split(',');
    return `${before}${first}${rest}`;
  });
}
