import type { Readable } from 'node:stream';
import { type Event, type Protocol, type Reply, ReplyReader, SseReader, type Usage, wires } from '@svc/inference';
import type { Choice, Lane } from '../providers/index.ts';
import { LaneFailure } from './inference.attempt.ts';
import type { Bill, Closing } from './inference.meter.ts';
import { isContentEvent } from './inference.stream.ts';
import type { Timers } from './inference.timers.ts';

/** One turn that a model is asked for: streamed by the lane, whatever the client wants. */
export interface ModelTurn {
  /** The client's: a lane of it gets beta headers. */
  protocol: Protocol;
  /** Length of what is sent, about. */
  bytes: number;
  /** The whole request for a lane. Throws `Untranslatable`. */
  bodyFor(choice: Choice): string;
  /** Names of the tools that the request offers. */
  tools?: readonly string[];
  /** Steps reach the client as they come; otherwise the turn may be given up at any time, and another lane asked. */
  isLive: boolean;
  /** Takes steps as they come, or all of them at the end of a turn that is not live. */
  hear(events: readonly Event[], lane: Lane): Promise<void>;
}

/** A turn that is over. */
export interface Turned {
  reply: Reply;
  lane: Lane;
}

/** Asks for a turn. */
export type AskTurn = (turn: ModelTurn) => Promise<Turned>;

/** How a request of turns ended; `send` sends what is left of its answer once its cost is recorded. */
export type TurnClosing = Closing & { send?: () => Promise<void> };

/** Work that asks for turns. The bill exists from the first turn on. */
export type TurnWork = (ask: AskTurn, bill: () => Bill | undefined) => Promise<TurnClosing>;

/** The upstream failed after the client heard of the turn: nobody else can go on with it. */
export class TurnCut extends Error {
  override name = 'TurnCut';
}

/** Far more than a model says; of a turn that is not live all of it is kept. */
const mostLetters = 16 * 1024 * 1024;
const shortMs = 5_000;

/** Reads one turn from a lane's stream. */
export class TurnReader {
  readonly #lane: Lane;
  readonly #timers: Timers;
  readonly #turn: ModelTurn;
  readonly #reply = new ReplyReader();
  #held: Event[] = [];
  #hasContent = false;
  /** Its client heard of it. */
  isHeard = false;

  constructor({ lane }: Choice, timers: Timers, turn: ModelTurn) {
    this.#lane = lane;
    this.#timers = timers;
    this.#turn = turn;
  }

  get reply(): Reply {
    return this.#reply.reply;
  }

  get usage(): Usage | undefined {
    return this.reply.usage;
  }

  get letters(): number {
    return this.#reply.letters;
  }

  /** Reads to the end. Throws `LaneFailure` as long as another lane may answer, else `TurnCut`. */
  async read(body: Readable): Promise<void> {
    const sse = new SseReader();
    const reader = wires[this.#lane.protocol].reader(this.#turn);
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        this.#timers.heard();
        for (const frame of sse.push(chunk)) if (await this.#take(reader.push(frame))) return;
        await this.#tell();
      }
      const last = sse.end();
      if (last && (await this.#take(reader.push(last)))) return;
      await this.#take(reader.end());
    } catch (error) {
      if (error instanceof LaneFailure || error instanceof TurnCut) throw error;
      throw this.#failure(this.#timers.passed ?? 'the connection to the upstream broke');
    }
  }

  /** Answers whether the turn is over. */
  async #take(events: readonly Event[]): Promise<boolean> {
    for (const event of events) {
      if (event.type === 'error') throw this.#failure(event.message);
      this.#reply.push(event);
      if (!this.#hasContent && isContentEvent(event)) {
        this.#hasContent = true;
        this.#timers.content();
      }
    }
    this.#held.push(...events);
    if (this.letters > mostLetters) throw this.#failure('it says more than a model does');
    if (!events.some(({ type }) => type === 'end')) return false;
    await this.#tell(true);
    return true;
  }

  async #tell(isOver = false): Promise<void> {
    if (this.#held.length === 0 || !(isOver || (this.#turn.isLive && this.#hasContent))) return;
    const held = this.#held;
    this.#held = [];
    this.isHeard = true;
    await this.#timers.held(this.#turn.hear(held, this.#lane));
  }

  #failure(message: string): Error {
    this.#timers.isCut ||= this.isHeard;
    return this.isHeard ? new TurnCut(message) : new LaneFailure(message, shortMs);
  }
}
