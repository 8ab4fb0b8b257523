import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { indexedDbStorage } from '@svc/sdk';

/** Of pages: their types are those of a browser, which are not known here. */
const { dropOutboxes, outboxName } = (await import(`${import.meta.dirname}/../src/api/outboxes.ts`)) as {
  dropOutboxes: (butOf?: string, known?: string) => Promise<void>;
  outboxName: (accountId: string) => string;
};
const { Store } = (await import(`${import.meta.dirname}/../src/api/store.ts`)) as {
  Store: new (
    name: string,
  ) => { end(): Promise<void>; hide(): Promise<void>; openFor(accountId: string | undefined): Promise<void> };
};

const [ana, ion] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

/** Databases of a browser by name; of nothing but their names is anything asked here. */
const openBrowser = (...names: string[]): Set<string> => openOne(names, 'success');

function openOne(names: string[], ends: 'success' | 'blocked'): Set<string> {
  const held = new Set(names);
  const done = (): EventTarget => {
    const request = new EventTarget();
    queueMicrotask(() => request.dispatchEvent(new Event(ends)));
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
/** The database in which the SDK keeps the unsent writes of an account. */
async function unsentOf(account: string): Promise<string> {
  const held = openBrowser();
  await indexedDbStorage(outboxName(account))
    .ids()
    .catch(() => {});
  const [name] = held;
  return name ?? assert.fail('no database was opened');
}

describe('what waits to be sent from a device', () => {
  afterEach(() => {
    for (const name of ['indexedDB', 'document']) Reflect.deleteProperty(globalThis, name);
  });

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

  test('who is suspended keeps what they wrote and did not send, and others nothing', async () => {
    const [ofAna, ofIon] = [await unsentOf(ana), await unsentOf(ion)];
    const held = openBrowser(ofAna, ofIon);
    Object.assign(globalThis, { document: { cookie: `a=b; __Host-svc_account=${ana}` } });
    await new Store('kept').hide();
    assert.deepEqual(
      [...held].filter((name) => name.includes('outbox')),
      [ofAna],
    );
  });

  test('a tab that does not give up what waits there keeps nobody from signing out', async () => {
    const held = openOne([await unsentOf(ana)], 'blocked');
    await new Store('kept').end();
    assert.equal([...held].filter((name) => name.includes('outbox')).length, 0);
  });

  test('where a browser does not tell its databases, that of whoever was here is deleted by its name', async () => {
    const [ofAna, ofIon] = [await unsentOf(ana), await unsentOf(ion)];
    const held = openBrowser(ofAna, ofIon);
    Reflect.deleteProperty((globalThis as unknown as { indexedDB: object }).indexedDB, 'databases');
    await dropOutboxes(undefined, ana);
    assert.deepEqual([...held], [ofIon]);
    await dropOutboxes(ion, ion);
    assert.deepEqual([...held], [ofIon]);
  });
});
