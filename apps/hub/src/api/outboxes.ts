/** The outbox of an account on this device, as the SDK's storage is given it. */
export const outboxName = (accountId: string | undefined): string => `${prefix}${accountId ?? ''}`;

const prefix = 'svc-hub-outbox-';
/** The storage of the SDK puts this before the name of its database. */
const ofStorage = 'svc-outbox-';

/**
 * Deletes what waits to be sent on this device, of anybody but `butOf`: whoever holds a device that was signed out reads
 * nothing of it, and nobody sends it later. A tab that has one open gives it up.
 */
export async function dropOutboxes(butOf?: string): Promise<void> {
  const found = await indexedDB.databases();
  const own = butOf === undefined ? undefined : ofStorage + outboxName(butOf);
  const names = found
    .map(({ name = '' }) => name)
    .filter((name) => name.startsWith(ofStorage + prefix) && name !== own);
  await Promise.all(names.map(deleted));
}

const deleted = (name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.addEventListener('success', () => resolve());
    request.addEventListener('error', () => reject(request.error ?? new Error('it was not deleted')));
  });
