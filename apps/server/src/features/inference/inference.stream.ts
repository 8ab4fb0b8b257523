import type { Readable } from 'node:stream';
import {
  type Event,
  type Frame,
  objectOf,
  type Protocol,
  SseReader,
  type StreamReader,
  type Usage,
  type Value,
  wires,
} from '@svc/inference';
import type { RelayedAnswer } from '../../kernel/http/relay.ts';
import { LaneFailure, refusedEmpty } from './inference.attempt.ts';
import type { Timers } from './inference.timers.ts';

/** Bytes held before the first content: lifecycle events never need more. */
const mostHeldBytes = 1024 * 1024;
const shortMs = 5_000;

/** A client's wishes for a stream. */
interface Wanted {
  client: Protocol;
  lane: Protocol;
  /** Names of the tools that it offers. */
  tools?: readonly string[];
  /** It asked for the usage in the stream. */
  tellsUsage: boolean;
  /** Seconds since the epoch. */
  created: number;
  /** The first content is there: no other lane will be asked. */
  onContent(): void;
  /** A refusal without a word is the client's, not another lane's. */
  passesRefusal?: boolean;
  /** Sees a whole response before its client does. */
  onLast?: (response: Value) => Promise<void>;
  /** Headers of the answer. */
  head: Readonly<Record<string, string>>;
}

/** Carries one stream from a lane to a client: as it comes in the same protocol, else translated, frame by frame. */
export class StreamRelay {
  readonly #wanted: Wanted;
  readonly #relay: RelayedAnswer;
  readonly #timers: Timers;
  readonly #write: (frame: Frame, events: Event[]) => string | Buffer;
  readonly #reader: StreamReader;
  #held: (string | Buffer)[] = [];
  #heldBytes = 0;
  #hasContent = false;
  /** The upstream's own count. */
  usage: Usage | undefined;
  /** Letters of content that came; for a guess where the upstream counted nothing. */
  letters = 0;

  constructor(wanted: Wanted, relay: RelayedAnswer, timers: Timers) {
    this.#wanted = wanted;
    this.#relay = relay;
    this.#timers = timers;
    this.#reader = wires[wanted.lane].reader(wanted);
    if (wanted.client === wanted.lane) this.#write = (frame, events) => this.#same(frame, events);
    else {
      const writer = wires[wanted.client].writer(wanted);
      this.#write = (_frame, events) => events.flatMap((event) => writer.push(event)).join('');
    }
  }

  /**
   * Relays until the end; answers whether the client got a whole answer. Throws `LaneFailure` as long as another lane may
   * answer: before the first content.
   */
  async run(body: Readable): Promise<boolean> {
    const sse = new SseReader();
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        this.#timers.heard();
        const done = await this.#frames(sse.push(chunk));
        if (done !== undefined) return done;
      }
      const last = sse.end();
      const done = last ? await this.#frames([last]) : undefined;
      return done ?? (await this.#over());
    } catch (error) {
      if (error instanceof LaneFailure) throw error;
      return await this.#fail(this.#timers.passed ?? 'the connection to the upstream broke');
    }
  }

  /** Writes what frames come to, in one go; answers how the stream ended, if it did. */
  async #frames(frames: readonly Frame[]): Promise<boolean | undefined> {
    let isContent = this.#hasContent;
    const out: (string | Buffer)[] = [];
    for (const frame of frames) {
      const events = this.#reader.push(frame);
      const failure = events.find((event) => event.type === 'error');
      if (failure) {
        await this.#send(out, isContent);
        return this.#fail(failure.message);
      }
      this.#count(events);
      if (!isContent && this.#wanted.passesRefusal === false && events.some(isRefusal)) throw refusedEmpty();
      isContent ||= events.some(isContentEvent);
      out.push(this.#write(frame, events));
      if (!events.some(({ type }) => type === 'end')) continue;
      await this.#last(frame);
      // A whole answer without a word is one too, if it says how it ended.
      await this.#send(out, isContent || events.length > 0);
      return true;
    }
    await this.#send(out, isContent);
    return undefined;
  }

  async #last({ data = '' }: Frame): Promise<void> {
    const { lane, onLast } = this.#wanted;
    if (lane === 'responses' && onLast) await onLast(objectOf(objectOf(JSON.parse(data))['response']));
  }

  #same(frame: Frame, events: Event[]): string | Buffer {
    const { client, tellsUsage } = this.#wanted;
    // The usage was asked for by us.
    const isOurs = client === 'chat' && !tellsUsage && events.length === 1 && events[0]?.type === 'usage';
    return isOurs ? '' : (this.#reader.mended ?? frame.raw);
  }

  #count(events: readonly Event[]): void {
    for (const event of events) {
      if (event.type === 'usage') this.usage = event.usage;
      else if (event.type === 'delta') this.letters += event.text.length;
    }
  }

  async #send(out: (string | Buffer)[], isContent: boolean): Promise<void> {
    if (!isContent) {
      this.#held.push(...out);
      this.#heldBytes += out.reduce((sum, part) => sum + part.length, 0);
      if (this.#heldBytes > mostHeldBytes) throw new LaneFailure('it sent much and no content', shortMs);
      return;
    }
    if (!this.#hasContent) {
      this.#hasContent = true;
      this.#timers.content();
      this.#wanted.onContent();
      // It may be open already, to show that it lives.
      if (!this.#relay.isOpen) this.#relay.open(200, this.#wanted.head);
    }
    const parts = [...this.#held, ...out].map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
    this.#held = [];
    await this.#timers.held(this.#relay.write(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)));
  }

  /** The upstream closed its stream without a last word. */
  async #over(): Promise<boolean> {
    const events = this.#reader.end();
    const failure = events.find((event) => event.type === 'error');
    if (failure) return this.#fail(failure.message);
    const { client, lane } = this.#wanted;
    const frame: Frame = { event: undefined, data: undefined, raw: Buffer.from(wires[lane].lastFrame) };
    await this.#send([client === lane ? frame.raw : this.#write(frame, events)], true);
    return true;
  }

  /** The protocol's own error, never its end; before the first content the next lane's turn. */
  async #fail(message: string): Promise<boolean> {
    if (!this.#hasContent) throw new LaneFailure(message, shortMs);
    this.#timers.isCut = true;
    await this.#relay.write(wires[this.#wanted.client].errorFrame('the answer was cut: the upstream failed'));
    return false;
  }
}

const isRefusal = (event: Event): boolean => event.type === 'finish' && event.finish === 'refusal';

/** Whether a step is content: what is sent cannot be taken back, so no other lane may answer after it. */
export const isContentEvent = ({ type, ...event }: Event): boolean =>
  type === 'delta' ||
  type === 'signature' ||
  type === 'citation' ||
  type === 'finish' ||
  (type === 'open' &&
    'block' in event &&
    (event.block.type === 'call' || event.block.type === 'other' || event.block.type === 'redacted'));
