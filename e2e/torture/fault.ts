import type { World } from './world.ts';

/** A fault that is waiting for its place. */
export interface Armed extends Disposable {
  /** The thing that it hit, in a few words; undefined: the request never came so far. */
  readonly hit: () => string | undefined;
  /** Cuts the client off, where that is the fault. */
  readonly signal?: AbortSignal;
}

/** A kind of fault. */
export interface Fault {
  readonly name: string;
  /** The platform itself is broken: 500, with the reason in its log, is an answer to it. */
  readonly isOurs?: boolean;
  /** Has the n-th thing of its kind fail that a request does from now on, from 1, until it is disposed of. */
  arm(world: World, nth: number): Armed;
}
