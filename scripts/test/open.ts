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

/** Follows what is opened from now on; answers what of it is open and keeps this process alive. */
export function watchOpen(): () => Open[] {
  const running = new AsyncLocalStorage<TestName>();
  tracingChannel<TestName, TestName>('node.test').start.bindStore(running, (test) => test);
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
