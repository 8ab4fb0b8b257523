import { Socket } from 'node:net';
import postgres from 'postgres';
import { addressOf, type Place, placesOf, urlOf } from '../../config.servers.ts';
import { Servers } from './servers.ts';
import { guarded, refusing } from './socket.ts';
import { connectTls, type DatabaseTls, splitTls } from './tls.ts';

/** Where postgres.js wants to go. */
interface Way {
  path?: string | false;
  host: string[];
  port: number[];
}

/** A server has this long to connect and, of several, to say whether it takes writes. */
const limitMs = 5_000;
const askedMs = 2_000;

/**
 * How connections to a database are made: to the server of its URL, to that of several which takes writes, or, without a
 * URL, to the socket of the embedded one. After `silentMs` a server that was asked and says nothing is taken for dead.
 */
export function dialer(given: string | undefined, silentMs: number | undefined): (way: Way) => Promise<Socket> {
  const { url, tls } = splitTls(given ?? '');
  const places = placesOf(url);
  const servers = places.length > 1 ? new Servers(places, (place) => takesWrites(given ?? '', place)) : undefined;
  return async (way) => {
    try {
      if (way.path) return dial({ path: way.path }, silentMs);
      const place = servers ? await servers.find() : (places[0] ?? firstOf(way));
      return tls ? await dialTls(place, tls, silentMs) : dial(place, silentMs);
    } catch (error) {
      return refusing(guarded(new Socket()), error as Error);
    }
  };
}

const firstOf = ({ host, port }: Way): Place => ({ host: host[0] ?? '127.0.0.1', port: port[0] ?? 5432 });

const dial = (to: Place | { path: string }, silentMs: number | undefined): Socket =>
  guarded(new Socket().connect('path' in to ? to : addressOf(to)), silentMs);

const dialTls = async (place: Place, tls: DatabaseTls, silentMs: number | undefined): Promise<Socket> =>
  guarded(await connectTls(place, tls, limitMs), silentMs);

/** Asks one server, on a connection of its own. */
async function takesWrites(url: string, place: Place): Promise<boolean> {
  const alone = urlOf(url, place);
  const sql = postgres(splitTls(alone).url, {
    max: 1,
    ssl: false,
    fetch_types: false,
    connect_timeout: askedMs / 1_000,
    connection: { statement_timeout: askedMs },
    socket: dialer(alone, askedMs),
  } as postgres.Options<{}>);
  try {
    const [row] = await sql<{ transaction_read_only: string }[]>`show transaction_read_only`;
    return row?.transaction_read_only === 'off';
  } finally {
    await sql.end({ timeout: 1 });
  }
}
