/** A button that was pressed without a network, until it is sent. */
export interface WaitingAct {
  /** Sent as `Idempotency-Key`: it is done once, however often it is sent. */
  key: string;
  title: string;
  tag: string;
  method: string;
  path: string;
  body?: object;
  at: number;
}

const name = 'svc-hub-acts';
/** The gateway knows a repeat for 24 h; what is older is not sent any more. */
const mostAgeMs = 23 * 3_600_000;
const mostWaiting = 50;

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.addEventListener('upgradeneeded', () => request.result.createObjectStore('acts', { keyPath: 'key' }));
  return answerOf(request);
}

function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('nothing is kept here')));
  });
}

/** Keeps an act until there is a network. */
export async function keepAct(act: WaitingAct): Promise<void> {
  const store = (await open()).transaction('acts', 'readwrite').objectStore('acts');
  if ((await answerOf(store.count())) < mostWaiting) await answerOf(store.put(act));
}

/** Acts that wait and are not too old, oldest first. */
export async function waitingActs(now: number): Promise<WaitingAct[]> {
  const store = (await open()).transaction('acts', 'readonly').objectStore('acts');
  const all = (await answerOf(store.getAll())) as WaitingAct[];
  return all.filter(({ at }) => now - at < mostAgeMs).sort((one, other) => one.at - other.at);
}

/** Forgets one that was sent. */
export async function dropAct(key: string): Promise<void> {
  await answerOf((await open()).transaction('acts', 'readwrite').objectStore('acts').delete(key));
}

/** Forgets all: what one person pressed is not sent as another. */
export async function dropActs(): Promise<void> {
  await answerOf((await open()).transaction('acts', 'readwrite').objectStore('acts').clear());
}
