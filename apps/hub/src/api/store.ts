import { dropActs } from '../sw.acts.ts';
import { forgetDrafts } from './drafts.ts';
import { dropOutboxes } from './outboxes.ts';

/** One answer of the API as this browser keeps it. */
interface Kept {
  /** The query key as JSON. */
  key: string;
  data: unknown;
  /** When it was true, in milliseconds since the epoch. */
  at: number;
}

/** The account that is signed in, as a cookie of the server says it; undefined when nobody is. */
export const accountHere = (): string | undefined =>
  /(?:^|; )(?:__Host-)?svc_account=([0-9a-f-]{36})/.exec(document.cookie)?.[1];

const keptMs = 7 * 86_400_000;
const mostKept = 300;
const mostBytes = 512 * 1024;
/** A tab that stays open for weeks drops what is over `mostKept` now and then. */
const trimmedEvery = 50;

/**
 * What pages showed, kept in this browser for seven days so that they open without a network. It is of one account; whatever
 * fails here costs a request, never a page.
 */
export class Store {
  readonly #database: Promise<IDBDatabase | undefined>;
  #kept = 0;
  #isEnded = false;

  constructor(name = 'svc-hub') {
    this.#database = open(name).catch(() => undefined);
  }

  /** Forgets everything when it is of another account, or of nobody who is signed in. */
  async openFor(accountId: string | undefined): Promise<void> {
    forgetDrafts(accountId);
    if (accountId !== undefined && (await this.read('account')) === accountId) {
      await dropOutboxes(accountId).catch(() => {});
      return;
    }
    await this.clear(accountId);
    if (accountId !== undefined) await this.write('account', accountId);
  }

  /** What is kept, newest first; what is too old is dropped. */
  async load(): Promise<Kept[]> {
    const all = (await this.#ask('records', 'readonly', (store) => store.getAll())) as Kept[] | undefined;
    const oldest = Date.now() - keptMs;
    const rows = (all ?? []).sort((one, other) => other.at - one.at);
    const gone = rows.filter(({ at }, place) => at < oldest || place >= mostKept);
    for (const { key } of gone) await this.#ask('records', 'readwrite', (store) => store.delete(key));
    return rows.filter((row) => !gone.includes(row));
  }

  /** Keeps an answer, unless it is too large to be read at a start, or its person signed out meanwhile. */
  async keep(row: Kept): Promise<void> {
    if (this.#isEnded || accountHere() === undefined) return;
    if (JSON.stringify(row.data)?.length > mostBytes) return;
    await this.#ask('records', 'readwrite', (store) => store.put(row));
    this.#kept += 1;
    if (this.#kept % trimmedEvery === 0) await this.load();
  }

  async read(name: string): Promise<string | undefined> {
    const found = (await this.#ask('facts', 'readonly', (store) => store.get(name))) as { value: string } | undefined;
    return found?.value;
  }

  async write(name: string, value: string): Promise<void> {
    await this.#ask('facts', 'readwrite', (store) => store.put({ name, value }));
  }

  /** Forgets everything, and keeps nothing of what was asked for before: this browser was signed out. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.clear();
  }

  /** Forgets what pages showed; what the person who is signed in wrote and did not send stays: they are suspended. */
  async hide(): Promise<void> {
    await this.clear(accountHere());
  }

  /** Forgets everything: somebody signed out, or somebody else signed in, whose unsent writes stay. */
  async clear(butOf?: string): Promise<void> {
    const known = await this.read('account');
    await this.#ask('records', 'readwrite', (store) => store.clear());
    await this.#ask('facts', 'readwrite', (store) => store.clear());
    // What was pressed in a notification and not sent yet.
    await dropActs().catch(() => {});
    await dropOutboxes(butOf, known).catch(() => {});
  }

  async #ask(
    name: 'records' | 'facts',
    mode: IDBTransactionMode,
    work: (store: IDBObjectStore) => IDBRequest,
  ): Promise<unknown> {
    const database = await this.#database;
    if (!database) return undefined;
    try {
      return await answerOf(work(database.transaction(name, mode).objectStore(name)));
    } catch {
      return undefined;
    }
  }
}

async function open(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.addEventListener('upgradeneeded', () => {
    request.result.createObjectStore('records', { keyPath: 'key' });
    request.result.createObjectStore('facts', { keyPath: 'name' });
  });
  return await answerOf(request);
}

function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('the browser keeps nothing')));
  });
}
