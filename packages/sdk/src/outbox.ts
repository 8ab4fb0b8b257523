import type { Contract, Route, RouteInput } from '@svc/contract';
import type { Client } from './client.ts';
import { SvcError } from './error.ts';
import { type Failure, failureOf, isSurelyUndone, mayMend, maybeSent } from './outbox.failures.ts';
import type { OutboxStorage } from './outbox.storage.ts';
import { onReturn, pauseOf, sleep } from './pause.ts';
import { type RouteRow, routes } from './routes.ts';
import { type CallOptions, type Input, randomKey } from './send.ts';

/** A write that does nothing twice with its `Idempotency-Key`, or by what it is. */
type Repeatable = { method: 'POST'; idempotent: true } | { method: 'PUT' | 'PATCH' | 'DELETE' };
type Storable<R> = R extends Route
  ? R extends { takes: { kind: 'bytes' | 'anything' } }
    ? never
    : R & Repeatable
  : never;
type Names<F extends keyof Contract> = {
  [V in keyof Contract[F]]: Storable<Contract[F][V]> extends never ? never : `${F & string}.${V & string}`;
}[keyof Contract[F]];
/** The `operationId` of a write that an outbox takes. */
export type OutboxOperation = { [F in keyof Contract]: Names<F> }[keyof Contract];
type RouteOf<O> = O extends `${infer F}.${infer V}`
  ? F extends keyof Contract
    ? V extends keyof Contract[F]
      ? Contract[F][V]
      : never
    : never
  : never;
/** Input of a write, as of a call of the client. */
export type OutboxInput<O extends OutboxOperation> = Omit<RouteInput<RouteOf<O> & Route>, 'headers'>;

/** A write as an outbox keeps it. */
export interface OutboxEntry {
  readonly id: string;
  /** `operationId`. */
  readonly operation: string;
  readonly input: Input;
  readonly storedAt: string;
  /** Since when it may have been done; absent while that is out of the question. */
  readonly triedAt?: string;
  /** Why it is not sent any more; it is kept until it is dismissed or tried again. */
  readonly refused?: Failure;
}

/** What became of a write: durable on this device, tried in vain and to be tried again, done, or refused for good. */
export type OutboxChange =
  | { state: 'stored'; entry: OutboxEntry }
  | { state: 'waiting'; entry: OutboxEntry; error: SvcError }
  /** The answer is absent when it was lost for good; so is the entry's input beside it when another tab or process sent it. */
  | { state: 'sent'; entry: OutboxEntry; answer?: unknown }
  | { state: 'refused'; entry: OutboxEntry; error: SvcError };

/** Settings of an outbox. */
export interface OutboxOptions {
  /** Hears what becomes of each write. */
  onChange?: (change: OutboxChange) => void;
  /** Writes that it keeps at most; default 10,000. */
  mostEntries?: number;
  /** Bytes of them; default 64 MiB. */
  mostBytes?: number;
}

/** As it is stored. */
interface Stored extends OutboxEntry {
  readonly key: string;
  /** The outbox that took it. */
  readonly owner: string;
}
/** Left, in place of an entry that another outbox sent, for its owner, which says so and takes it away. */
interface SentNote {
  readonly entry: OutboxEntry;
  readonly owner: string;
  readonly sentAt: string;
}

/** The gateway keeps answers for 24 h: later a repeat might do it again. */
const repeatableMs = 23 * 3_600_000;
/** Begins the ids of notes, which stand behind all entries. */
const notePrefix = 'sent-';
/** How long a note waits for its owner, which may be gone. */
const ownerMs = 60_000;
/** How often an outbox looks for what others left. */
const lookMs = 30_000;

/**
 * Opens an outbox: writes that are stored first and sent in order when there is a network, each exactly once. Use one
 * storage for one account. The API key is not stored; what you write is, in plain text.
 */
export function openOutbox(client: Client, storage: OutboxStorage, options: OutboxOptions = {}): Outbox {
  return new Outbox(client, storage, options);
}

/** Writes that wait for the gateway; several tabs or processes may have one on the same storage. */
export class Outbox implements AsyncDisposable {
  readonly #client: Client;
  readonly #storage: OutboxStorage;
  readonly #options: Required<OutboxOptions>;
  readonly #owner = randomKey();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #failures = 0;
  #puts: Promise<unknown> = Promise.resolve();
  /** There is something new since the last pass began. */
  #isAwake = false;
  #endIdle: (() => void) | undefined;

  constructor(client: Client, storage: OutboxStorage, options: OutboxOptions) {
    this.#client = client;
    this.#storage = storage;
    this.#options = { onChange: () => {}, mostEntries: 10_000, mostBytes: 64 * 1024 * 1024, ...options };
    this.#running = this.#run();
  }

  /**
   * Stores a write; resolves once it is durable, and rejects when it is not stored: `outbox_full`, or an error of the
   * storage. Calls keep their order. `idempotencyKey`: that of a call whose answer was lost, which is not done twice then.
   */
  put<O extends OutboxOperation>(
    operation: O,
    input: OutboxInput<O>,
    { idempotencyKey }: { idempotencyKey?: string } = {},
  ): Promise<OutboxEntry> {
    const put = this.#puts.then(() => this.#put(operation, input as Input, idempotencyKey ?? randomKey()));
    this.#puts = put.catch(() => {});
    return put;
  }

  /** What waits and what was refused, oldest first. */
  async list(): Promise<OutboxEntry[]> {
    const entries = [];
    for (const id of (await this.#storage.ids()).filter(isEntry)) {
      const stored = await this.#read(id);
      if (stored) entries.push(entryOf(stored));
    }
    return entries;
  }

  /** Takes a write out of it, refused or waiting; one that is on its way may still arrive. */
  async dismiss(id: string): Promise<void> {
    await this.#storage.remove(id);
  }

  /** Sends a refused write after all, as a new one: what `maybe_sent` says is then a risk that you take. */
  async retry(id: string): Promise<void> {
    const stored = await this.#read(id);
    if (!stored?.refused) return;
    const { operation, input, storedAt } = stored;
    await this.#write({ id, operation, input, storedAt, key: randomKey(), owner: this.#owner });
    this.#wake();
  }

  /** Stops sending; what waits stays stored. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await Promise.allSettled([this.#puts, this.#running]);
    await this.#storage.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #put(operation: string, input: Input, key: string): Promise<OutboxEntry> {
    this.#closing.signal.throwIfAborted();
    if (!isStorable(operation)) throw new TypeError(`${operation} is no write that does nothing twice`);
    const at = Date.now();
    const ids = (await this.#storage.ids()).filter(isEntry);
    const rest = { operation, input, storedAt: new Date(at).toISOString(), key, owner: this.#owner };
    const bytes = new TextEncoder().encode(JSON.stringify(rest)).length;
    const held = ids.reduce((sum, id) => sum + partsOf(id).bytes, 0);
    const { mostEntries, mostBytes } = this.#options;
    if (ids.length >= mostEntries || held + bytes > mostBytes) {
      const message = `the outbox holds ${ids.length} writes of ${held} bytes, and takes ${mostEntries} of ${mostBytes}; send or dismiss some`;
      throw new SvcError({ status: 0, code: 'outbox_full', message });
    }
    // Behind everything that is there, also when the clock was turned back.
    const place = Math.max(at, 1 + partsOf(ids.at(-1) ?? '').place);
    const stored: Stored = { id: idOf(place, bytes), ...rest };
    await this.#write(stored);
    const entry = entryOf(stored);
    this.#options.onChange({ state: 'stored', entry });
    this.#wake();
    return entry;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const stop = onReturn(() => this.#wake());
    while (!signal.aborted) {
      this.#isAwake = false;
      // What the storage throws is tried again as a lost connection is.
      const failure = await this.#storage
        .alone(() => this.#pass(), signal)
        .catch((cause: unknown) => new SvcError({ status: 0, code: 'unknown', message: String(cause), cause }));
      this.#failures = failure ? this.#failures + 1 : 0;
      const pauseMs = failure && Math.max(1_000 * (failure.retryAfter ?? 0), pauseOf(this.#failures));
      await (pauseMs === undefined ? this.#idle() : sleep(pauseMs, signal, true)).catch(() => {});
    }
    stop();
  }

  #wake(): void {
    this.#isAwake = true;
    this.#endIdle?.();
  }

  /** Resolves when there is a new write, the browser is back, or it is time to look for what others left. */
  #idle(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, lookMs) as ReturnType<typeof setTimeout> & { unref?(): void };
      // Nothing waits: a program of Node.js may end.
      timer.unref?.();
      this.#endIdle = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#isAwake || this.#closing.signal.aborted) this.#endIdle();
    });
  }

  /** Sends what waits, in order; answers the failure that ended it. */
  async #pass(): Promise<SvcError | undefined> {
    for (let sent = true; sent; ) {
      sent = false;
      for (const id of await this.#storage.ids()) {
        if (!isEntry(id)) {
          await this.#settle(id);
          continue;
        }
        const stored = await this.#read(id);
        if (!stored || stored.refused) continue;
        const failure = await this.#send(stored);
        if (failure) return failure;
        this.#failures = 0;
        sent = true;
      }
    }
    return undefined;
  }

  /** Tells what another outbox sent, if it was ours. */
  async #settle(id: string): Promise<void> {
    const text = await this.#storage.read(id);
    if (text === undefined) return;
    const { entry, owner, sentAt } = JSON.parse(text) as SentNote;
    const isOurs = owner === this.#owner;
    if (!isOurs && Date.now() - Date.parse(sentAt) < ownerMs) return;
    await this.#storage.remove(id);
    if (isOurs) this.#options.onChange({ state: 'sent', entry });
  }

  /** Sends one; answers why it has to wait. */
  async #send(found: Stored): Promise<SvcError | undefined> {
    if (isOffline()) return new SvcError({ status: 0, code: 'connection_error', message: 'this browser is offline' });
    const isFirst = found.triedAt === undefined;
    if (!isFirst && Date.now() - Date.parse(found.triedAt ?? '') > repeatableMs) {
      await this.#refuse(found, maybeSent(found.triedAt ?? ''));
      return undefined;
    }
    const stored = isFirst ? { ...found, triedAt: new Date().toISOString() } : found;
    // Before it leaves: whoever finds it after a crash has to know that it may have arrived.
    if (isFirst) await this.#write(stored);
    try {
      await this.#sent(stored, await this.#call(stored));
    } catch (cause) {
      const error = cause instanceof SvcError ? cause : undefined;
      if (!error) throw cause;
      this.#closing.signal.throwIfAborted();
      // What an attempt before deleted is gone.
      const isGone = !isFirst && error.status === 404 && routeOf(stored.operation)?.method === 'DELETE';
      if (isGone || error.code === 'answer_not_kept') await this.#sent(stored, undefined);
      else if (mayMend(error)) {
        if (isFirst && isSurelyUndone(error)) await this.#rewrite(found);
        this.#options.onChange({ state: 'waiting', entry: entryOf(stored), error });
        return error;
      } else await this.#refuse(stored, error);
    }
    return undefined;
  }

  async #call({ operation, input, key }: Stored): Promise<unknown> {
    const [feature = '', verb = ''] = operation.split('.');
    type Call = (input: Input, call: CallOptions) => Promise<unknown>;
    const call = (this.#client as unknown as Record<string, Record<string, Call>>)[feature]?.[verb];
    if (!call) throw new SvcError({ status: 0, code: 'bad_request', message: `this client has no ${operation}` });
    try {
      return await call(input, { idempotencyKey: key, retries: 0, signal: this.#closing.signal });
    } catch (error) {
      // A parameter that is missing: nothing left this device.
      if (error instanceof TypeError) throw new SvcError({ status: 0, code: 'bad_request', message: error.message });
      throw error;
    }
  }

  async #sent(stored: Stored, answer: unknown): Promise<void> {
    const entry = entryOf(stored);
    if (stored.owner !== this.#owner) {
      // What it said need not lie there any longer.
      const note: SentNote = { entry: { ...entry, input: {} }, owner: stored.owner, sentAt: new Date().toISOString() };
      await this.#storage.write(notePrefix + stored.id, JSON.stringify(note));
    }
    await this.#storage.remove(stored.id);
    this.#options.onChange({ state: 'sent', entry, answer });
  }

  async #refuse(stored: Stored, error: SvcError): Promise<void> {
    const refused = { ...stored, refused: failureOf(error) };
    await this.#rewrite(refused);
    this.#options.onChange({ state: 'refused', entry: entryOf(refused), error });
  }

  /** Writes what is still there: it may have been dismissed meanwhile. */
  async #rewrite(stored: Stored): Promise<void> {
    if ((await this.#storage.read(stored.id)) !== undefined) await this.#write(stored);
  }

  #write(stored: Stored): Promise<void> {
    return this.#storage.write(stored.id, JSON.stringify(stored));
  }

  async #read(id: string): Promise<Stored | undefined> {
    const text = await this.#storage.read(id);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as Stored;
    } catch {
      const refused = { status: 0, code: 'damaged', message: 'what was stored cannot be read any more' };
      return { id, operation: '', input: {}, storedAt: '', key: '', owner: '', refused };
    }
  }
}

function routeOf(operation: string): RouteRow | undefined {
  const [feature = '', verb = ''] = operation.split('.');
  return routes[feature]?.[verb];
}

function isStorable(operation: string): boolean {
  const route = routeOf(operation);
  if (!route || (route.takes !== undefined && route.takes !== 'json')) return false;
  return route.idempotent === true || ['PUT', 'PATCH', 'DELETE'].includes(route.method);
}

/** A browser knows when it has no network: a write that it does not try was not sent. */
const isOffline = (): boolean => (globalThis.navigator as { onLine?: boolean } | undefined)?.onLine === false;

function entryOf({ id, operation, input, storedAt, triedAt, refused }: Stored): OutboxEntry {
  return { id, operation, input, storedAt, ...(triedAt !== undefined && { triedAt }), ...(refused && { refused }) };
}

const isEntry = (id: string): boolean => !id.startsWith(notePrefix);

/** An id says where its entry stands and how long it is: bounds hold over all tabs without reading everything. */
const idOf = (place: number, bytes: number): string =>
  `${place.toString(36).padStart(9, '0')}-${bytes.toString(36)}-${randomKey().slice(0, 12)}`;

function partsOf(id: string): { place: number; bytes: number } {
  const [place = '', bytes = ''] = id.split('-');
  return { place: parseInt(place, 36) || 0, bytes: parseInt(bytes, 36) || 0 };
}
