import type { OutboxStorage } from './outbox.storage.ts';

/** The parts of IndexedDB and Web Locks that are used: types of browsers are not those of Node.js. */
interface Request<T> extends EventTarget {
  result: T;
  error: Error;
}
interface Store {
  getAllKeys(): Request<string[]>;
  get(key: string): Request<string | undefined>;
  put(value: string, key: string): Request<unknown>;
  delete(key: string): Request<unknown>;
}
interface Transaction extends EventTarget {
  error: Error;
  objectStore(name: string): Store;
}
interface Database extends EventTarget {
  createObjectStore(name: string): void;
  transaction(store: string, mode: string, options?: { durability: string }): Transaction;
  close(): void;
}
interface Browser {
  indexedDB: { open(name: string, version: number): Request<Database> };
  navigator: {
    locks?: { request<T>(name: string, options: { signal: AbortSignal }, work: () => Promise<T>): Promise<T> };
  };
}

const store = 'entries';

/** Keeps an outbox in the database `svc-outbox-<name>` of this origin. */
export function indexedDbStorage(name: string): OutboxStorage {
  const { indexedDB, navigator } = globalThis as unknown as Browser;
  const database = `svc-outbox-${name}`;
  let opened: Promise<Database> | undefined;

  const open = (): Promise<Database> =>
    (opened ??= new Promise<Database>((resolve, reject) => {
      const opening = indexedDB.open(database, 1);
      opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore(store));
      opening.addEventListener('error', () => reject(opening.error));
      opening.addEventListener('success', () => {
        const { result } = opening;
        // The browser closed it, or somebody deletes it: it is opened anew.
        result.addEventListener('close', () => (opened = undefined));
        result.addEventListener('versionchange', () => {
          opened = undefined;
          result.close();
        });
        resolve(result);
      });
    }).catch((error: unknown) => {
      opened = undefined;
      throw error;
    }));

  const read = async <T>(ask: (entries: Store) => Request<T>): Promise<T> => {
    const request = ask((await open()).transaction(store, 'readonly').objectStore(store));
    return new Promise((resolve, reject) => {
      request.addEventListener('success', () => resolve(request.result));
      request.addEventListener('error', () => reject(request.error));
    });
  };
  const change = async (act: (entries: Store) => unknown): Promise<void> => {
    // `strict`: complete when it is on the disk, and not when the system has it.
    const transaction = (await open()).transaction(store, 'readwrite', { durability: 'strict' });
    const done = new Promise<void>((resolve, reject) => {
      transaction.addEventListener('complete', () => resolve());
      transaction.addEventListener('abort', () => reject(transaction.error));
    });
    act(transaction.objectStore(store));
    await done;
  };

  return {
    ids: () => read((entries) => entries.getAllKeys()),
    read: (id) => read((entries) => entries.get(id)),
    write: (id, text) => change((entries) => entries.put(text, id)),
    remove: (id) => change((entries) => entries.delete(id)),
    // A page of plain HTTP has no locks: there each write's Idempotency-Key alone keeps it from being done twice.
    alone: (work, signal) => navigator.locks?.request(database, { signal }, work) ?? work(),
    async close() {
      (await opened)?.close();
      opened = undefined;
    },
  };
}
