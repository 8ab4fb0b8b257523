/** A file that waits in this browser until it is uploaded; pages and the service worker read and write it. */
export interface WaitingUpload {
  /** Also the `client_id` of its transcript: the same upload makes one transcript, however often it is tried. */
  id: string;
  /** Whose it is; undefined: it was shared with the app, and nobody took it yet. */
  accountId?: string;
  name: string;
  bytes: number;
  lastModified: number;
  /** Tells its file from others, when it is picked again. */
  mark: string;
  title: string;
  /** Spoken; empty: the provider finds out. */
  language: string;
  folderId: string;
  consent: string;
  /** When it came, in milliseconds since the epoch. */
  at: number;
  /** The upload that the server has of it. */
  uploadId?: string;
  isPaused: boolean;
}

/** The one file that came by the system's share menu. */
export const sharedId = 'shared';
/** A larger file is not kept. */
export const mostSharedBytes = 500_000_000;
const databaseName = 'svc-hub-uploads';
/** What is not uploaded for a day is forgotten. */
const mostAgeMs = 86_400_000;

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(databaseName, 1);
  request.addEventListener('upgradeneeded', () => {
    request.result.createObjectStore('uploads', { keyPath: 'id' });
    request.result.createObjectStore('files', { keyPath: 'id' });
  });
  return answerOf(request);
}

function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('nothing is kept here')));
  });
}

async function ask<T>(
  name: 'uploads' | 'files',
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const database = await open();
  try {
    const transaction = database.transaction(name, mode);
    const over = new Promise((resolve, reject) => {
      transaction.addEventListener('complete', resolve);
      transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('nothing is kept here')));
    });
    const [answer] = await Promise.all([answerOf(work(transaction.objectStore(name))), over]);
    return answer;
  } finally {
    database.close();
  }
}

/** Keeps what is known of an upload. */
export async function keepUpload(row: WaitingUpload): Promise<void> {
  await ask('uploads', 'readwrite', (store) => store.put(row));
}

/** Keeps the file of an upload. Throws where the browser has no room for it. */
export async function keepFile(id: string, file: Blob): Promise<void> {
  await ask('files', 'readwrite', (store) => store.put({ id, file }));
}

/** The file of an upload; undefined when this browser has not kept it. */
export async function fileOf(id: string): Promise<Blob | undefined> {
  const row = (await ask('files', 'readonly', (store) => store.get(id))) as { file: Blob } | undefined;
  return row?.file;
}

/** Uploads that wait and are not too old, oldest first; the others are forgotten. */
export async function waitingUploads(now: number): Promise<WaitingUpload[]> {
  const all = (await ask('uploads', 'readonly', (store) => store.getAll())) as WaitingUpload[];
  const old = all.filter(({ at }) => now - at > mostAgeMs);
  for (const { id } of old) await dropUpload(id);
  return all.filter((row) => !old.includes(row)).sort((one, other) => one.at - other.at);
}

/** Forgets an upload and its file. */
export async function dropUpload(id: string): Promise<void> {
  await ask('files', 'readwrite', (store) => store.delete(id));
  await ask('uploads', 'readwrite', (store) => store.delete(id));
}

/** Forgets every upload: somebody signed out. */
export async function dropUploads(): Promise<void> {
  await ask('files', 'readwrite', (store) => store.clear());
  await ask('uploads', 'readwrite', (store) => store.clear());
}
