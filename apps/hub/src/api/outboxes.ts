/** The outbox of an account on this device, as the SDK's storage is given it. */
export const outboxName = (accountId: string | undefined): string => `${prefix}${accountId ?? ''}`;

const prefix = 'svc-hub-outbox-';
/** The storage of the SDK puts this before the name of its database. */
const ofStorage = 'svc-outbox-';

/**
 * Deletes what waits to be sent on this device, of anybody but `butOf`: whoever holds a device that was signed out
 * reads nothing of it, and nobody sends it later. A tab that has one open gives it up. Where the browser does not tell
 * which there are, that of `known` is deleted, whose device it was before.
 */
export async function dropOutboxes(butOf?: string, known?: string): Promise<void> {
  const own = butOf === undefined ? undefined : ofStorage + outboxName(butOf);
  const names = (await namesOf(known)).filter((name) => name.startsWith(ofStorage + prefix) && name !== own);
  await Promise.all(names.map(deleted));
}

async function namesOf(known: string | undefined): Promise<string[]> {
  const { databases } = indexedDB as { databases?: IDBFactory['databases'] };
  if (databases === undefined) return [...new Set(['', known ?? ''])].map((account) => ofStorage + outboxName(account));
  return (await databases.call(indexedDB)).map(({ name = '' }) => name);
}

const deleted = (name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.addEventListener('success', () => resolve());
    // A tab that does not give it up: it goes once that tab is closed, and nothing waits for it.
    request.addEventListener('blocked', () => resolve());
    request.addEventListener('error', () => reject(request.error ?? new Error('it was not deleted')));
  });
