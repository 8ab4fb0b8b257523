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
   * Has `listen` open the port with the options that it is given, if set, then opens the other listeners. Throws what it throws, and
   * `EADDRINUSE` when somebody has the port: listeners that share it would not say so of another process of this user.
   */
  async open(
    server: Server,
    at: Address,
    listen: (options: Listen) => Promise<unknown> = (options) => listening(server, options),
  ): Promise<void> {
    const plain = { ...at, backlog };
    // Elsewhere the newest listener gets all connections, or there is no such option.
    if (process.platform !== 'linux') {
      await listen(plain);
      return;
    }
    if (at.port !== 0) await closed(await listening(createServer(), { ...plain, exclusive: true }));
    await listen({ ...plain, reusePort: true });
    const { port } = server.address() as AddressInfo;
    for (let more = 1; more < doors; more += 1) {
      // As the server's own connections are.
      const door = createServer({ allowHalfOpen: true, noDelay: true });
      door.on('connection', (socket) => server.emit('connection', socket));
      this.#others.push(await listening(door, { ...plain, port, reusePort: true }));
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
