import { type NetConnectOpts, Socket } from 'node:net';

/** Length of the start-up parameter that makes the start-up message longer than what postgres.js holds back to batch. */
export const startupPadding = 1_024;
const protocolVersion = 196_608;

/**
 * A socket that works around two faults of postgres.js 3.4.9 when a connection breaks. A query made between the socket's
 * `error` and its `close` is never answered: here both come in one turn. And a write that was waiting when the socket
 * closed stays in the connection's buffer, with its timer marked as set, so that nothing is ever written again: the
 * start-up message is made long enough (`startupPadding`) to be written at once, and what stands before it is dropped.
 *
 * With `silentMs` it also ends a connection whose server was asked and says nothing for so long: a machine that lost its
 * power or its network resets nothing, and everything would wait.
 */
export class DatabaseSocket extends Socket {
  #failure: Error | undefined;
  #started = false;
  readonly #silence: NodeJS.Timeout | undefined;
  #isAwaited = false;

  constructor(silentMs?: number) {
    super();
    if (silentMs === undefined) return;
    this.#silence = setTimeout(() => {
      if (this.#isAwaited) this.destroy(Object.assign(new Error('the database says nothing'), { code: 'ETIMEDOUT' }));
    }, silentMs).unref();
    this.once('close', () => clearTimeout(this.#silence));
  }

  /** Connects. */
  dial(to: NetConnectOpts): this {
    super.connect(to);
    // Node puts a `write` of its own on every socket that connects, above the one of this class.
    Reflect.deleteProperty(this, 'write');
    return this;
  }

  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event === 'error') {
      this.#failure = values[0] as Error;
      return true;
    }
    if (event === 'close' && this.#failure) super.emit('error', this.#failure);
    if (event === 'data') {
      this.#isAwaited = !endsReady(values[0] as Buffer);
      this.#silence?.refresh();
    }
    return super.emit(event as 'close', ...(values as [boolean]));
  }

  override write(bytes: Buffer, ...rest: never[]): boolean {
    if (!this.#isAwaited) {
      this.#isAwaited = true;
      this.#silence?.refresh();
    }
    if (this.#started) return super.write(bytes, ...rest);
    this.#started = true;
    return super.write(bytes.subarray(startupAt(bytes)), ...rest);
  }
}

/** Where the start-up message begins: it ends the buffer, its length and the protocol's version begin it. */
function startupAt(bytes: Buffer): number {
  for (let at = 0; at + 8 <= bytes.length; at++) {
    if (bytes.readInt32BE(at) === bytes.length - at && bytes.readInt32BE(at + 4) === protocolVersion) return at;
  }
  return 0;
}

/** Whether the last message of these bytes is ReadyForQuery: `Z`, its length 5, a state. */
const endsReady = (bytes: Buffer): boolean =>
  bytes.length >= 6 && bytes[bytes.length - 6] === 0x5a && bytes.readInt32BE(bytes.length - 5) === 5;
