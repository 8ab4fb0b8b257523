import { type Event, frameOf, type Protocol, ReplyReader, wires } from '@svc/inference';
import type { Context } from '../../kernel/http/context.ts';
import { sendWhole } from '../inference/index.ts';

/** Where the one answer goes that is made of all turns. */
export interface Listener {
  /** Steps are heard as they come. */
  readonly isLive: boolean;
  /** Without a lane it is that of before. */
  say(events: readonly Event[], lane?: string): Promise<void>;
  /** Tools run from now on, which may take minutes; answers what ends it. */
  wait(): () => void;
  /** The answer broke off: the protocol's error, and never its end. False: nobody heard of it yet. */
  fail(message?: string): Promise<boolean>;
  /** All was said, at this cost: from now on `bytes` is the length of the answer. */
  finish(costMicroUsd: number): void;
  /** Sends what is left to send. */
  end(): Promise<void>;
  readonly bytes: number;
}

const streamHead = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-svc-cost-estimate': 'pending',
};

/** Signs that keep a connection open while tools run: clients of messages know `ping`, any reader of events a comment. */
const alive: Readonly<Record<string, string>> = { messages: frameOf({ type: 'ping' }, 'ping') };

/** Writes the answer as a stream of the client's protocol. */
export class StreamedAnswer implements Listener {
  readonly isLive = true;
  readonly #context: Context;
  readonly #protocol: Protocol;
  readonly #writer;
  #lane = '';

  constructor(context: Context, protocol: Protocol, options: { created: number; tellsUsage: boolean }) {
    this.#context = context;
    this.#protocol = protocol;
    this.#writer = wires[protocol].writer(options);
  }

  get bytes(): number {
    return this.#context.openRelay().bytes;
  }

  async say(events: readonly Event[], lane = this.#lane): Promise<void> {
    this.#lane = lane;
    const text = events.flatMap((event) => this.#writer.push(event)).join('');
    if (text !== '') await this.#open().write(text);
  }

  wait(): () => void {
    // From here on the relay shows by itself that it lives.
    void this.#open().write(alive[this.#protocol] ?? ': tools are at work\n\n');
    return () => {};
  }

  async fail(message = 'the answer was cut: the upstream failed'): Promise<boolean> {
    const relay = this.#context.openRelay();
    if (!relay.isOpen) return false;
    await relay.write(wires[this.#protocol].errorFrame(message));
    relay.end();
    return true;
  }

  finish(): void {}

  end(): Promise<void> {
    this.#context.openRelay().end();
    return Promise.resolve();
  }

  #open() {
    const relay = this.#context.openRelay();
    if (!relay.isOpen) relay.open(200, { 'x-svc-lane': this.#lane, ...streamHead });
    return relay;
  }
}

/** Collects the answer, and sends it whole. */
export class WholeAnswer implements Listener {
  readonly isLive = false;
  readonly #context: Context;
  readonly #protocol: Protocol;
  readonly #created: number;
  readonly #reading = new ReplyReader();
  #lane = '';
  #text = Buffer.alloc(0);
  #cost = 0;

  constructor(context: Context, protocol: Protocol, created: number) {
    this.#context = context;
    this.#protocol = protocol;
    this.#created = created;
  }

  say(events: readonly Event[], lane = this.#lane): Promise<void> {
    this.#lane = lane;
    for (const event of events) this.#reading.push(event);
    return Promise.resolve();
  }

  wait(): () => void {
    return () => {};
  }

  fail(): Promise<boolean> {
    return Promise.resolve(false);
  }

  finish(costMicroUsd: number): void {
    const { reply } = this.#reading;
    this.#text = Buffer.from(JSON.stringify(wires[this.#protocol].writeReply(reply, this.#created)));
    this.#cost = costMicroUsd;
  }

  get bytes(): number {
    return this.#text.length;
  }

  end(): Promise<void> {
    const headers = { 'x-svc-lane': this.#lane, 'x-svc-cost-micro-usd': String(this.#cost) };
    return sendWhole(this.#context, this.#text, headers);
  }
}

/** Joins the steps of all turns to those of one answer. Calls of the server's tools are its own, and left out. */
export class Speech {
  readonly #isOurs: (tool: string) => boolean;
  /** Text of two turns is one string for clients of chat completions. */
  readonly #joins: boolean;
  readonly #hidden = new Set<number>();
  #base = 0;
  #next = 0;
  #isStarted = false;
  #texts = 0;
  #textsBefore = 0;

  constructor(protocol: Protocol, isOurs: (tool: string) => boolean) {
    this.#joins = protocol === 'chat';
    this.#isOurs = isOurs;
  }

  /** Another turn begins. */
  turn(): void {
    this.#base = this.#next;
    this.#hidden.clear();
    this.#textsBefore = this.#texts;
  }

  /** The steps of this turn as the client hears them. */
  heard(events: readonly Event[]): Event[] {
    return events.flatMap((event) => this.#heard(event));
  }

  /** Text of ours, as a block of its own. */
  ours(text: string): Event[] {
    this.turn();
    const index = this.#next++;
    const lead = this.#joins && this.#texts > 0 ? '\n\n' : '';
    return [
      { type: 'open', index, block: { type: 'text' } },
      { type: 'delta', index, text: lead + text },
      { type: 'close', index },
    ];
  }

  #heard(event: Event): Event[] {
    switch (event.type) {
      case 'start': {
        const isFirst = !this.#isStarted;
        this.#isStarted = true;
        return isFirst ? [event] : [];
      }
      case 'open':
        return this.#opened(event);
      case 'delta':
      case 'signature':
      case 'citation':
      case 'close':
        return this.#hidden.has(event.index) ? [] : [{ ...event, index: event.index + this.#base }];
      case 'usage':
      case 'finish':
      case 'end':
      case 'error':
        return [];
      default:
        return event satisfies never;
    }
  }

  #opened({ index: given, block, again }: Extract<Event, { type: 'open' }>): Event[] {
    if (block.type === 'other' || (block.type === 'call' && this.#isOurs(block.name))) {
      this.#hidden.add(given);
      return [];
    }
    const index = given + this.#base;
    this.#next = Math.max(this.#next, index + 1);
    const place = again === undefined ? {} : { again: again + this.#base };
    const opened: Event[] = [{ type: 'open', index, block, ...place }];
    if (block.type !== 'text') return opened;
    this.#texts++;
    if (this.#joins && this.#textsBefore > 0) {
      this.#textsBefore = 0;
      opened.push({ type: 'delta', index, text: '\n\n' });
    }
    return opened;
  }
}
