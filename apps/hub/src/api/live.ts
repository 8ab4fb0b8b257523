import { type Change, follow, type Missed } from '@svc/sdk';
import { api, failureOf, signedOutCode } from './client.ts';
import type { Store } from './store.ts';

/** What a tab hears: a change, that everything is to be read anew, or whether changes come. */
type Word =
  | { kind: 'change'; change: Change }
  | { kind: 'missed' }
  | { kind: 'state'; isLive: boolean; at: number | undefined }
  | { kind: 'hello' }
  | { kind: 'seen' }
  | { kind: 'signed-out' }
  | { kind: 'ended' };

/** Tells pages what happens. */
interface LiveListener {
  onChange(change: Change): void;
  /** What is shown has to be read anew. */
  onMissed(): void;
  /** `at`: until when changes came; undefined: none have since the page was opened. */
  onState(isLive: boolean, at: number | undefined): void;
  /** A tab signed out. */
  onSignedOut(): void;
  /** A tab heard that the sign-in of this browser ended. */
  onEnded(): void;
}

/** Tells all tabs, this one too, that a person signed this browser out. */
export const tellSignedOut = (): void => post({ kind: 'signed-out' });

/** Tells all tabs that the sign-in of this browser ended elsewhere, or by time. */
export const tellEnded = (): void => post({ kind: 'ended' });

function post(word: Word): void {
  const channel = openChannel();
  channel?.postMessage(word);
  channel?.close();
}

const channelName = 'svc-live';
/** Undefined in a browser that lacks them: each tab reads for itself there. */
const openChannel = (): BroadcastChannel | undefined =>
  'BroadcastChannel' in globalThis ? new BroadcastChannel(channelName) : undefined;
const lockName = 'svc-live';
const cursorName = 'cursor';
/** With no tab in view for so long the connection ends; it goes on after its cursor when one is. */
const hiddenMs = 5 * 60_000;
const seenEveryMs = 60_000;

/**
 * One event stream for all tabs of the browser: the tab that holds the lock reads it and shares what comes. HTTP/1.1 has six
 * connections for an origin, and ten tabs would use them up.
 */
export class Live {
  readonly #channel = openChannel();
  readonly #listener: LiveListener;
  readonly #store: Store;
  readonly #end = new AbortController();
  #isLeader = false;
  #isLive = false;
  #at: number | undefined;
  #seenAt = Date.now();
  #wake: (() => void) | undefined;
  #rest: AbortController | undefined;

  constructor(store: Store, listener: LiveListener) {
    this.#store = store;
    this.#listener = listener;
    this.#channel?.addEventListener('message', ({ data }) => this.#hear(data as Word));
    this.#channel?.postMessage({ kind: 'hello' } satisfies Word);
    document.addEventListener('visibilitychange', this.#look);
    const timer = setInterval(this.#look, seenEveryMs);
    this.#end.signal.addEventListener('abort', () => {
      document.removeEventListener('visibilitychange', this.#look);
      clearInterval(timer);
      this.#wake?.();
      this.#channel?.close();
    });
    void this.#lead();
  }

  /** Leaves the stream; another tab takes it. */
  close(): void {
    this.#end.abort();
  }

  readonly #look = (): void => {
    if (document.visibilityState === 'visible') {
      this.#seenAt = Date.now();
      this.#channel?.postMessage({ kind: 'seen' } satisfies Word);
      this.#wake?.();
    } else if (Date.now() - this.#seenAt > hiddenMs) this.#rest?.abort();
  };

  #hear(word: Word): void {
    if (word.kind === 'change') this.#listener.onChange(word.change);
    else if (word.kind === 'missed') this.#listener.onMissed();
    else if (word.kind === 'state') this.#listener.onState(word.isLive, word.at);
    else if (word.kind === 'signed-out') this.#listener.onSignedOut();
    else if (word.kind === 'ended') this.#listener.onEnded();
    else if (word.kind === 'seen') {
      this.#seenAt = Date.now();
      this.#wake?.();
    } else if (this.#isLeader) this.#say({ kind: 'state', isLive: this.#isLive, at: this.#at });
  }

  /** To this tab and all others. */
  #say(word: Word): void {
    if (this.#end.signal.aborted) return;
    this.#channel?.postMessage(word);
    if (word.kind !== 'hello') this.#hear(word);
  }

  async #lead(): Promise<void> {
    if (!navigator.locks || !this.#channel) return await this.#read();
    try {
      await navigator.locks.request(lockName, { signal: this.#end.signal }, () => this.#read());
    } catch {
      // Signed out.
    }
  }

  async #read(): Promise<void> {
    this.#isLeader = true;
    while (!this.#end.signal.aborted) {
      this.#rest = new AbortController();
      const signal = AbortSignal.any([this.#end.signal, this.#rest.signal]);
      try {
        await this.#follow(signal);
      } catch (error) {
        if (failureOf(error)?.code === signedOutCode) return;
        this.#setState(false);
        await this.#pause(signal.aborted ? undefined : 15_000);
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const after = await this.#store.read(cursorName);
    const changes = follow(
      api,
      { ...(after !== undefined && { after }), onState: (isLive) => this.#setState(isLive) },
      { signal },
    );
    for await (const item of changes) {
      this.#at = Date.now();
      this.#say(isMissed(item) ? { kind: 'missed' } : { kind: 'change', change: item });
      void this.#store.write(cursorName, item.cursor);
    }
  }

  #setState(isLive: boolean): void {
    if (this.#isLive || isLive) this.#at = Date.now();
    this.#isLive = isLive;
    this.#say({ kind: 'state', isLive, at: this.#at });
  }

  /** Until a tab is in view, or `mostMs` are over. */
  #pause(mostMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = mostMs === undefined ? undefined : setTimeout(resolve, mostMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

const isMissed = (item: Change | Missed): item is Missed => item.missed === true;
