import type { Context } from './context.ts';
import { parseBody } from './json-body.ts';
import { JsonScanner } from './json.ts';
import type { SpooledBody } from './spool.ts';

/** From here on a body waits on disk while somebody else works on it. */
const longBytes = 256 * 1024;

/**
 * The parsed body of a request that is passed on, maybe more than once. A long one is put on disk once somebody else has all
 * of it, as the answer may take minutes, and is read again when it is needed again.
 */
export class RestingBody<Body extends Record<string, unknown>> {
  readonly #context: Context;
  /** Fields that its schema let through. */
  readonly #names: readonly string[];
  #body: Body;
  #spooled: SpooledBody | undefined;
  #isResting = false;
  #isClosed = false;
  #moving: Promise<void> = Promise.resolve();

  constructor(context: Context, body: Body) {
    this.#context = context;
    this.#names = Object.keys(body);
    this.#body = body;
  }

  /** Worth the disk. */
  get isLong(): boolean {
    return (this.#spooled?.bytes ?? this.#context.bodyBytes.length) >= longBytes;
  }

  /** The body and its bytes. Throws 429 or 503 when it was put on disk and finds no room in memory for 10 s. */
  async wake(): Promise<{ body: Body; bytes: Buffer }> {
    await this.#moving;
    if (this.#isResting && this.#spooled) {
      await this.#read(this.#spooled);
      this.#isResting = false;
    }
    return { body: this.#body, bytes: this.#context.bodyBytes };
  }

  /** Somebody else has all of it: it goes from memory, if the disk takes it. */
  rest(): void {
    this.#moving = this.#moving.then(async () => {
      if (this.#isResting || this.#isClosed) return;
      if (this.#spooled) this.#context.dropBody();
      else this.#spooled = await this.#context.spoolBody();
      if (!this.#spooled) return;
      this.#isResting = true;
      // Callers up the stack hold the object: it is emptied.
      for (const name of Object.keys(this.#body)) Reflect.deleteProperty(this.#body, name);
    });
  }

  /** Nobody will ask for it again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#moving;
    await this.#spooled?.drop();
  }

  async #read(spooled: SpooledBody): Promise<void> {
    const bytes = await this.#context.bodyAgain(spooled);
    const scanner = new JsonScanner();
    scanner.push(bytes);
    const all = (await parseBody(scanner, bytes)) as Body;
    this.#body = Object.fromEntries(Object.entries(all).filter(([name]) => this.#names.includes(name))) as Body;
  }
}
