import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Where a server listens. */
interface Address {
  port: number;
  host: string;
}

/** Connections that wait to be taken: as many as Linux allows by default. Node.js's own 511 are fewer than a burst of pings. */
const backlog = 4_096;

/** What a server is to listen with. */
type Listen = Address & { backlog: number; exclusive?: true; reusePort?: true };

/**
 * Listeners of one port. libuv takes one connection of a listener in each turn of the loop: with one alone and turns of 20 ms,
 * fifty newcomers a second come in and the others wait in the kernel's queue until it is full; then their first packet is lost,
 * again and again (p99 of `/health` was 26 s beside half a dozen floods).
 */
const doors = 32;

/** What the system says of an address that the machine does not have: IPv6 is off, or was never there. */
const missing = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL', 'EPROTONOSUPPORT']);

/** Opens a port of a server by more than one listener, where the kernel shares connections out among them. */
export class Doors {
  readonly #others: Server[] = [];
  #closed: Promise<void> | undefined;

  /** Those of a server, which close before it does. */
  static of(app: FastifyInstance): Doors {
    const doors = new Doors();
    app.addHook('preClose', (done) => {
      void doors.close();
      done();
    });
    return doors;
  }

  /**
   * Has `listen` open the port with the options that it is given, if set, then opens the other listeners; at 127.0.0.1
   * and 0.0.0.0 those of ::1 too, since `localhost` is both. Throws what it throws, and `EADDRINUSE` when somebody has
   * the port at one of them: listeners that share it would not say so of another process of this user, and at ::1 alone
   * it would have the browsers.
   */
  async open(
    server: Server,
    { port: wanted, host }: Address,
    listen: (options: Listen) => Promise<unknown> = (options) => listening(server, options),
  ): Promise<void> {
    // Elsewhere the newest listener gets all connections, or there is no such option.
    const shared = process.platform === 'linux';
    const isLocal = host === '127.0.0.1' || host === 'localhost';
    const hasName = isLocal || host === '0.0.0.0';
    const plain = {
      port: wanted,
      host: isLocal ? '127.0.0.1' : host,
      backlog,
      ...(shared && ({ reusePort: true } as const)),
    };
    let isDouble = hasName && wanted !== 0 && (await proves({ port: wanted, host: '::1' }));
    if (shared && wanted !== 0) await prove(plain);
    await listen(plain);
    const { port } = server.address() as AddressInfo;
    // Of a port that nobody asked for nobody was promised both.
    if (hasName && wanted === 0) isDouble = await proves({ port, host: '::1' }).catch(() => false);
    await this.#share(server, { ...plain, port }, shared ? doors - 1 : 0);
    if (isDouble) await this.#share(server, { ...plain, port, host: '::1' }, shared ? doors : 1);
  }

  /** Opens so many listeners whose connections are the server's. */
  async #share(server: Server, at: Listen, count: number): Promise<void> {
    for (let more = 0; more < count; more += 1) {
      // As the server's own connections are.
      const door = createServer({ allowHalfOpen: true, noDelay: true });
      door.on('connection', (socket) => server.emit('connection', socket));
      this.#others.push(await listening(door, at));
    }
  }

  /**
   * Takes no more connections by the other listeners; those that are open go on, and it is done once they have ended. The server
   * waits for those of its own listener alone.
   */
  close(): Promise<void> {
    this.#closed ??= Promise.all(this.#others.map(closed)).then(() => {});
    return this.#closed;
  }
}

/** Throws `EADDRINUSE` when somebody has the port, whether they share it or not. */
async function prove({ port, host }: Address): Promise<void> {
  await closed(await listening(createServer(), { port, host, backlog, exclusive: true }));
}

/** Whether an address is there to listen at: false on a machine without it. Throws what `prove` throws. */
async function proves(at: Address): Promise<boolean> {
  try {
    await prove(at);
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (missing.has(code)) return false;
    throw error;
  }
}

async function listening(server: Server, options: Listen): Promise<Server> {
  server.listen(options);
  await once(server, 'listening');
  return server;
}

async function closed(server: Server): Promise<void> {
  const over = once(server, 'close');
  server.close();
  await over;
}
