import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { indexedDbStorage } from '@svc/sdk';

/** Of pages: their types are those of a browser, which are not known here. */
const { outboxName } = (await import(`${import.meta.dirname}/../src/api/outboxes.ts`)) as {
  outboxName: (accountId: string) => string;
};
const { Store } = (await import(`${import.meta.dirname}/../src/api/store.ts`)) as {
  Store: new (name: string) => { end(): Promise<void>; openFor(accountId: string | undefined): Promise<void> };
};

const [ana, ion] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

/** Databases of a browser by name; of nothing but their names is anything asked here. */
function openBrowser(...names: string[]): Set<string> {
  const held = new Set(names);
  const done = (): EventTarget => {
    const request = new EventTarget();
    queueMicrotask(() => request.dispatchEvent(new Event('success')));
    return request;
  };
  Object.assign(globalThis, {
    indexedDB: {
      databases: async () => [...held].map((name) => ({ name, version: 1 })),
      deleteDatabase: (name: string) => (held.delete(name), done()),
      open(name: string) {
        held.add(name);
        throw new Error('its records are not looked at');
      },
    },
  });
  return held;
}
afterEach(() => Reflect.deleteProperty(globalThis, 'indexedDB'));

/** The database in which the SDK keeps the unsent writes of an account. */
async function unsentOf(account: string): Promise<string> {
  const held = openBrowser();
  await indexedDbStorage(outboxName(account))
    .ids()
    .catch(() => {});
  const [name] = held;
  return name ?? assert.fail('no database was opened');
}

test('what waits to be sent is gone from a device once it is signed out, whoever it was of', async () => {
  const [ofAna, ofIon] = [await unsentOf(ana), await unsentOf(ion)];
  const held = openBrowser(ofAna, ofIon, 'of another page');
  await new Store('kept').end();
  assert.deepEqual([...held].toSorted(), ['kept', 'of another page', 'svc-hub-acts']);
});

test('a page that opens with nobody signed in, or somebody else, drops what others left unsent', async () => {
  const [ofAna, ofIon] = [await unsentOf(ana), await unsentOf(ion)];
  for (const [who, left] of [
    [undefined, []],
    [ion, [ofIon]],
  ] as const) {
    const held = openBrowser(ofAna, ofIon);
    await new Store('kept').openFor(who);
    assert.deepEqual(
      [...held].filter((name) => name.includes('outbox')),
      left,
    );
  }
});
