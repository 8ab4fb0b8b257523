import { randomUUID } from 'node:crypto';
import type { Client } from '@svc/sdk';
import { clientOf, http, type HttpAnswer, type TestAccount, type TestGateway } from '../../testing.ts';

/** A device of an account at one gateway. */
export interface TestDevice {
  id: string;
  client: Client;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<HttpAnswer>;
}

/** Registers a device. */
export async function openDevice(
  gateway: Pick<TestGateway, 'url'>,
  account: Pick<TestAccount, 'key'>,
  { id = randomUUID(), platform = 'phone' }: { id?: string; platform?: string } = {},
): Promise<TestDevice> {
  const headers = { 'x-svc-device': id, 'x-svc-device-name': platform, 'x-svc-device-platform': platform };
  const { key } = account;
  const ask: TestDevice['ask'] = (method, path, body) => http(gateway.url, path, { method, key, headers, body });
  await ask('GET', '/v1/devices');
  return { id, client: clientOf(gateway, key, id), ask };
}

/** The frames of a stream, as they come. */
export class Frames<T extends { event: string; data: unknown }> implements Disposable {
  readonly all: T[] = [];
  readonly #abort: AbortController;
  #waiting: (() => void)[] = [];
  isOver = false;

  constructor(abort: AbortController, stream: AsyncIterable<T>) {
    this.#abort = abort;
    void this.#read(stream);
  }

  /** The first frame that fits, once it is there. */
  async find(fits: (frame: T) => boolean): Promise<T> {
    for (;;) {
      const found = this.all.find(fits);
      if (found) return found;
      if (this.isOver) throw new Error(`the stream ended: ${JSON.stringify(this.all).slice(0, 500)}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Resolves when the gateway ended it. */
  async over(): Promise<void> {
    while (!this.isOver) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async #read(stream: AsyncIterable<T>): Promise<void> {
    try {
      for await (const frame of stream) {
        this.all.push(frame);
        this.#wake();
      }
    } catch {
      // Ended by either side: what came is there.
    }
    this.isOver = true;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  [Symbol.dispose](): void {
    this.#abort.abort();
  }
}

/** Follows a session. */
export function followSession({ client }: TestDevice, id: string, after = 0) {
  const abort = new AbortController();
  return new Frames(abort, client.sessions.follow({ params: { id }, query: { after } }, { signal: abort.signal }));
}

/** Follows the controls that other devices send to a device. */
export function followControls({ client }: TestDevice) {
  const abort = new AbortController();
  return new Frames(abort, client.sessions.stream({}, { signal: abort.signal }));
}
