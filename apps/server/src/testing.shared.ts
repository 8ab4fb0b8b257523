import { after, before } from 'node:test';

/**
 * Opens what the tests of a suite share before the first of them, and disposes of it after the last. Its properties may
 * be taken at once, as in `const { gateway } = shared(() => openTest())`; they are there when a test or a hook runs.
 * One for a suite: of two, the first would be closed first.
 */
export function shared<T extends AsyncDisposable & { [name in keyof T]: object }>(open: () => Promise<T>): T {
  let opened: T | undefined;
  before(async () => {
    opened = await open();
  });
  after(() => opened?.[Symbol.asyncDispose]());
  const now = (): T => {
    if (opened === undefined) throw new Error('what a suite shares is open while its tests run, not before');
    return opened;
  };
  const properties = new Proxy({} as T, {
    get: (_, name) => standIn(() => Reflect.get(now(), name) as object),
  });
  return properties;
}

/** Stands for an object, or a function, that will be there when it is used. */
function standIn<T extends object>(target: () => T): T {
  return new Proxy((() => {}) as unknown as T, {
    get(_, name) {
      const value: unknown = Reflect.get(target(), name);
      // A method finds its private fields in the object alone.
      return typeof value === 'function' ? (value.bind(target()) as unknown) : value;
    },
    set: (_, name, value) => Reflect.set(target(), name, value),
    has: (_, name) => Reflect.has(target(), name),
    ownKeys: () => Reflect.ownKeys(target()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(target(), name),
    apply: (_, self, words) => Reflect.apply(target() as () => unknown, self, words) as unknown,
  });
}
