import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';

/** A line to a gateway that can be cut, and led to another one: daemons keep one address. */
export class Line implements AsyncDisposable {
  readonly #server = createServer((near) => this.#join(near));
  readonly #sockets = new Set<Socket>();
  /** The port that it leads to; undefined: nobody answers. */
  #port: number | undefined;

  async open(host = '127.0.0.1'): Promise<string> {
    this.#server.listen(0, host);
    await once(this.#server, 'listening');
    return `http://${host}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cuts all that goes through it; from now on it leads to `url`, or nowhere. */
  lead(url?: string): void {
    this.#port = url === undefined ? undefined : Number(new URL(url).port);
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: Socket): void {
    near.on('error', () => {});
    if (this.#port === undefined) return void near.destroy();
    const far = connect(this.#port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.lead();
    this.#server.close();
  }
}
