import { connect, createServer, type Server, type Socket } from 'node:net';

/** What may happen to the connections of a proxy. */
export const cuts = ['reset', 'halfOpen', 'leave', 'stall', 'throttle', 'swallow'] as const;
export type Cut = (typeof cuts)[number];

interface Pair {
  near: Socket;
  far: Socket;
  /** One cut at a time: a second one would join its two sides twice. */
  isCut?: boolean;
}

/** A half-open connection is found out, and a stall ends, within this. */
const mostMs = 120;

/** A network between a client and the gateways that breaks in the ways of a seed. */
export class CuttingProxy {
  readonly #random: () => number;
  readonly #ports: () => readonly number[];
  readonly #pairs = new Set<Pair>();
  readonly #server: Server;

  /** Each new connection goes to one of the ports. */
  constructor(random: () => number, ports: () => readonly number[]) {
    this.#random = random;
    this.#ports = ports;
    this.#server = createServer((near) => this.#join(near));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  close(): void {
    for (const { near, far } of this.#pairs) for (const socket of [near, far]) socket.destroy();
    this.#server.close();
  }

  /** Does it to every connection that is open now. */
  cut(kind: Cut): void {
    for (const pair of this.#pairs) this.#cutPair(pair, kind);
  }

  #join(near: Socket): void {
    const ports = this.#ports();
    const far = connect(ports[Math.floor(this.#random() * ports.length)] ?? 1, '127.0.0.1');
    const pair = { near, far };
    this.#pairs.add(pair);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.setNoDelay(true);
      one.on('error', () => {});
      one.on('close', () => {
        this.#pairs.delete(pair);
        // A side that was left alone on purpose is ended by its cut.
        if (!silent.has(other)) other.destroy();
      });
      one.pipe(other);
    }
  }

  #cutPair(pair: Pair, kind: Cut): void {
    const { near, far } = pair;
    if (pair.isCut) return;
    pair.isCut = true;
    const laterMs = this.#random() * mostMs;
    const later = (work: () => void): void =>
      void setTimeout(() => {
        pair.isCut = false;
        work();
      }, laterMs);
    const reset = (): void => {
      near.resetAndDestroy();
      far.destroy();
    };
    if (kind === 'reset') reset();
    // The gateway is gone, and the client hears of it later; or the other way round.
    else if (kind === 'halfOpen' || kind === 'leave') {
      const [gone, left] = kind === 'halfOpen' ? [far, near] : [near, far];
      silent.add(left);
      gone.destroy();
      later(() => left.resetAndDestroy());
    } else if (kind === 'stall') {
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.unpipe(to);
        later(() => from.destroyed || to.destroyed || from.pipe(to));
      }
    } else if (kind === 'throttle') {
      far.unpipe(near);
      // A few bytes at a time: frames arrive in pieces.
      const drip = (chunk: Buffer): void => {
        for (let at = 0; at < chunk.length; at += 7) near.write(chunk.subarray(at, at + 7));
      };
      far.on('data', drip);
      later(() => {
        far.off('data', drip);
        if (!far.destroyed && !near.destroyed) far.pipe(near);
      });
    } else {
      // What the gateway sends from now on is lost, and then the connection.
      far.unpipe(near);
      far.resume();
      later(reset);
    }
  }
}

/** Sides of half-open connections, which hear nothing of the other side's end. */
const silent = new WeakSet<Socket>();
