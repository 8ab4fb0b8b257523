import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';

/** A test or suite, as node:test names it. */
interface TestName {
  name: string;
  file: string;
}

/** Something that keeps a process alive. */
export interface Open {
  /** The test or suite that opened it. */
  by: TestName | undefined;
  /** Its description. */
  what: string;
  /** Of a child process. */
  pid: number | undefined;
}

interface Address {
  address?: string;
  port?: number;
}

/** The parts of a handle that are looked at; which of them there are depends on its kind. */
interface Handle {
  hasRef?(): boolean;
  getsockname?(out: Address): unknown;
  getpeername?(out: Address): unknown;
  pid?: number;
  _idleTimeout?: number;
  _repeat?: number | null;
}

const addressOf = (read: (out: Address) => unknown): string => {
  const out: Address = {};
  read(out);
  return `${out.address ?? '?'}:${out.port ?? '?'}`;
};

/** Kinds of resources that can keep a process alive, in words. */
const kinds: Readonly<Record<string, (handle: Handle) => string>> = {
  Timeout: (handle) => `${handle._repeat ? 'an interval' : 'a timer'} of ${handle._idleTimeout} ms`,
  TCPSERVERWRAP: (handle) => `a server at ${addressOf((out) => handle.getsockname?.(out))}`,
  TCPWRAP: (handle) => `a connection with ${addressOf((out) => handle.getpeername?.(out))}`,
  PIPESERVERWRAP: () => 'a server at a Unix socket',
  PIPEWRAP: () => 'a pipe, or a connection with a Unix socket',
  PROCESSWRAP: (handle) => `the process ${handle.pid}`,
  UDPWRAP: () => 'a UDP socket',
  FSEVENTWRAP: () => 'a watch of a file',
  STATWATCHER: () => 'a watch of a file',
  SIGNALWRAP: () => 'a watch for a signal',
  WORKER: () => 'a worker',
};

/** The test or suite in which something happens. */
export function followTests(): AsyncLocalStorage<TestName> {
  const running = new AsyncLocalStorage<TestName>();
  tracingChannel<TestName, TestName>('node.test').start.bindStore(running, (test) => test);
  return running;
}

/** Follows what is opened from now on; answers what of it is open and keeps this process alive. */
export function watchOpen(running: AsyncLocalStorage<TestName>): () => Open[] {
  const opened = new Map<number, { type: string; by: Open['by']; handle: WeakRef<object> }>();
  const options = { trackPromises: false };
  createHook({
    ...options,
    init(id, type, _trigger, handle) {
      if (type in kinds) opened.set(id, { type, by: running.getStore(), handle: new WeakRef(handle) });
    },
    destroy: (id) => void opened.delete(id),
  }).enable();
  return () =>
    [...opened.values()].flatMap(({ type, by, handle: reference }) => {
      const handle: Handle | undefined = reference.deref();
      if (handle === undefined || handle.hasRef?.() === false) return [];
      return [{ by, what: kinds[type]?.(handle) ?? type, pid: type === 'PROCESSWRAP' ? handle.pid : undefined }];
    });
}

/** An error that nothing caught, and the test or suite that caused it. */
export interface Uncaught {
  by: TestName | undefined;
  error: unknown;
}

/**
 * Collects errors that nothing catches, until they are asked for. node:test fails a test of which it knows that it
 * caused one; of others, after the end of their test above all, it only says so.
 */
export function watchUncaught(running: AsyncLocalStorage<TestName>): () => Uncaught[] {
  const uncaught: Uncaught[] = [];
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => void uncaught.push({ by: running.getStore(), error }));
  return () => uncaught.splice(0);
}

/**
 * Hooks that are enabled from now on follow no promises. That of node:test, which knows by it to which test an error
 * belongs, cost a fifth of the processor time of a lane: each promise was registered, and again when it was collected.
 * What it misses for that `watchUncaught` finds.
 */
export function followNoPromises(): void {
  const hooks = Object.getPrototypeOf(createHook({})) as { enable: (this: Record<symbol, unknown>) => unknown };
  const { enable } = hooks;
  hooks.enable = function (this: Record<symbol, unknown>) {
    const noPromises = Object.getOwnPropertySymbols(this).find(({ description }) => description === 'kNoPromiseHook');
    if (noPromises) this[noPromises] = true;
    return enable.call(this);
  };
}
