import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { totalmem } from 'node:os';
import { constrainedMemory } from 'node:process';
import proxyAddr from '@fastify/proxy-addr';
import { networkOf } from '../base/networks.ts';
import type { Kernel } from '../kernel.ts';

/** Descriptors that other parts of the process need: database, nodes, files, probes. */
const keptDescriptors = 512;
const usualDescriptors = 4_096;
/** What a connection takes that has sent half a head, 12 KiB measured; all of them may take an eighth of the memory. */
const bytesOfSilent = 16 * 1024;
const shareOfMemory = 1 / 8;
/** So many more are taken while some are let go: closing takes a turn of the loop. */
const spare = 64;
/** Let go at once, of one holder: the look at all holders is paid for several. */
const mostAtOnce = 16;
const tellEveryMs = 60_000;

/** A connection of a client. */
interface Connection {
  readonly id: string;
  readonly socket: Socket;
  /** Its address, or the /64 of it. */
  readonly network: string;
  /** Whether its address stands for many people. */
  readonly isShared: boolean;
  /** The turn of the loop in which it came. */
  readonly turn: number;
  /** Requests under way; those that became something else, such as a WebSocket, stay so. */
  busy: number;
}

/** Connections in the order in which they fell silent, by network. */
type Held = Map<string, Set<Connection>>;

interface Options extends Pick<Kernel, 'log' | 'clock' | 'metrics'> {
  readonly trustedProxies: readonly string[];
  /** Most connections at once; by default what descriptors and memory allow. */
  readonly most?: number;
}

/**
 * Keeps the listener open to who comes next (strangers: R6). Nobody is refused for how many connections his address
 * has. When nearly as many are open as descriptors or memory allow, the network that holds most silent ones loses its oldest:
 * first those that have not asked for anything though the loop had a turn to read it, then those that rest between requests.
 * Those of this machine and of trusted proxies, which stand for many people, come last. Only when all are at work is one
 * refused. Tells of it by metrics, and in the log once a minute.
 */
export function guardConnections(server: Server, options: Options): void {
  const guard = new ConnectionGuard(options);
  server.on('connection', (socket: Socket) => guard.open(socket));
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.prependListener(event, (request: IncomingMessage, response: ServerResponse) => {
      const one = guard.begin(request);
      if (one) response.once('close', () => guard.end(one));
    });
  }
  for (const event of ['upgrade', 'connect'])
    server.prependListener(event, (request: IncomingMessage) => void guard.begin(request));
}

class ConnectionGuard {
  readonly most: number;
  readonly #options: Options;
  readonly #isShared: (address: string, hop: number) => boolean;
  readonly #count: (of: Record<string, string>, by?: number) => void;
  readonly #known = new Map<string, Connection>();
  readonly #silent: Held = new Map();
  readonly #resting: Held = new Map();
  #turn = 0;
  #isTurning = false;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: Options) {
    const { metrics, trustedProxies } = options;
    this.#options = options;
    this.most = options.most ?? mostConnections();
    this.#isShared = proxyAddr.compile(['loopback', ...trustedProxies]);
    metrics.gauge('svc_http_connections', 'Connections of clients that are open', () => this.#known.size);
    const silent = 'Connections of clients that have not asked for anything';
    metrics.gauge('svc_http_connections_silent', silent, () => sizeOf(this.#silent));
    const ended = 'Connections that were ended to take further ones, and those that were refused';
    this.#count = metrics.counter('svc_http_connections_ended_total', ended, ['why']);
  }

  open(socket: Socket): void {
    const { remoteAddress: address, remotePort: port } = socket;
    // Gone again.
    if (address === undefined || port === undefined) return void socket.destroy();
    const network = networkOf(address);
    // Not by `maxConnections`: a server counts those of its own listener alone.
    if (this.#known.size >= this.most) {
      this.tell('refused', network);
      return void socket.destroy();
    }
    const id = idOf(address, port);
    const one = { id, socket, network, isShared: this.#isShared(address, 0), turn: this.#turn, busy: 0 };
    this.#known.set(id, one);
    hold(this.#silent, one);
    socket.once('close', () => this.#forget(one));
    this.#countTurns();
    if (this.#known.size > this.most - spare) this.#letGo();
  }

  /** A request came; answers its connection, which is at work from now on. */
  begin({ socket: { remoteAddress = '', remotePort = 0 } }: IncomingMessage): Connection | undefined {
    const one = this.#known.get(idOf(remoteAddress, remotePort));
    if (!one) return undefined;
    release(this.#silent, one);
    release(this.#resting, one);
    one.busy += 1;
    return one;
  }

  end(one: Connection): void {
    one.busy -= 1;
    if (one.busy === 0 && !one.socket.destroyed) hold(this.#resting, one);
  }

  tell(why: string, network: string | undefined, n = 1): void {
    const { clock, log } = this.#options;
    this.#count({ why }, n);
    if (clock.monotonic() < this.#toldAt + tellEveryMs) return;
    this.#toldAt = clock.monotonic();
    const state = { why, network, open: this.#known.size, most: this.most };
    log.warn(state, 'connections are short: some are ended to take further ones');
  }

  #forget(one: Connection): void {
    if (this.#known.get(one.id) === one) this.#known.delete(one.id);
    release(this.#silent, one);
    release(this.#resting, one);
  }

  /** Turns of the loop in which connections came. */
  #countTurns(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      this.#turn += 1;
    });
  }

  #letGo(): void {
    // Those of this turn and of the one before may have asked already: nobody has read it yet.
    const isRipe = (one: Connection): boolean => one.turn + 1 < this.#turn;
    const kinds = { silent: this.#silent, resting: this.#resting };
    for (const [why, held] of Object.entries(kinds)) {
      const most = holderOfMost(held, isRipe);
      if (most === undefined) continue;
      const chosen = [...most].filter(isRipe).slice(0, mostAtOnce);
      // Forgotten at once, not when they have closed: the next one may come in the same turn.
      for (const one of chosen) {
        this.#forget(one);
        one.socket.destroy();
      }
      return this.tell(why, chosen[0]?.network, chosen.length);
    }
  }
}

const idOf = (address: string, port: number): string => `${address} ${port}`;

function hold(held: Held, one: Connection): void {
  const own = held.get(one.network) ?? new Set();
  held.set(one.network, own.add(one));
}

function release(held: Held, one: Connection): void {
  const own = held.get(one.network);
  if (own?.delete(one) && own.size === 0) held.delete(one.network);
}

const sizeOf = (held: Held): number => held.values().reduce((sum, own) => sum + own.size, 0);

/** The largest holder's of those that may go; one that many people share only where nobody else holds any. */
function holderOfMost(held: Held, isRipe: (one: Connection) => boolean): ReadonlySet<Connection> | undefined {
  let found: { own: ReadonlySet<Connection>; isShared: boolean } | undefined;
  for (const own of held.values()) {
    // The oldest comes first.
    const [oldest] = own;
    if (oldest === undefined || !isRipe(oldest)) continue;
    const { isShared } = oldest;
    if (found && (isShared === found.isShared ? own.size <= found.own.size : isShared)) continue;
    found = { own, isShared };
  }
  return found?.own;
}

/** What descriptors and memory allow. */
function mostConnections(): number {
  const files = openFiles() ?? usualDescriptors;
  const byFiles = Math.max(Math.floor(files / 2), files - keptDescriptors);
  const memory = Math.min(totalmem(), constrainedMemory() || Number.POSITIVE_INFINITY);
  return Math.min(byFiles, Math.floor((memory * shareOfMemory) / bytesOfSilent));
}

/** Files that this process may have open; undefined where the system does not say. */
function openFiles(): number | undefined {
  try {
    const [, most] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return most === undefined ? undefined : Number(most);
  } catch {
    return undefined;
  }
}
