import {
  type Conversation,
  objectOf,
  type Protocol,
  readChatUsage,
  spliceJson,
  Untranslatable,
  type Value,
  wires,
} from '@svc/inference';
import type { Clock } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, badRequest } from '../../kernel/http/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { Places } from '../../kernel/places.ts';
import type { Spending } from '../keys/index.ts';
import { askLane, headersFor, LaneFailure, readAnswer, relayBytes } from './inference.attempt.ts';
import { type Choice, Lanes } from './inference.lanes.ts';
import { type Asker, type Bill, Meter } from './inference.meter.ts';
import { StreamRelay } from './inference.stream.ts';
import { Timers } from './inference.timers.ts';
import { type AskTurn, type Turned, TurnReader, type Turn, type TurnWork } from './inference.turn.ts';

/** A client's request, as its protocol says it. */
export interface Asked {
  protocol: Protocol;
  /** Parsed; the bytes are `context.bodyBytes`. */
  body: Value & { model: string; stream?: boolean | undefined };
}

/** Answers that are under way at once in a process, and those of one account. */
const places = { total: 8_192, mostOfOne: 4_096 };
const busySeconds = 30;
/** Time for the last words of what is cut. */
const cutMs = 1_000;

const wait = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

/** Carries requests to lanes, one after the other until one answers. */
export class Inference {
  readonly lanes: Lanes;
  readonly meter: Meter;
  readonly #kernel: Kernel;
  readonly #places = new Places(places);
  readonly #underWay = new Set<Timers>();

  constructor(kernel: Kernel, spending: Spending) {
    this.#kernel = kernel;
    this.lanes = new Lanes(kernel);
    this.meter = new Meter(kernel, spending);
  }

  /** The lanes that a key may ask for a model; throws 403, 404, or 502 without any lane. */
  choicesFor({ actor }: Pick<Asker, 'actor'>, model: string): Choice[] {
    if (actor.models && !actor.models.includes(model)) {
      throw new ApiError('forbidden', `this key may not use the model ${model}; it may use ${actor.models.join(', ')}`);
    }
    if (this.lanes.isEmpty) {
      throw new ApiError('upstream_error', 'no model provider is set up; add one with: ./svc providers add');
    }
    const choices = this.lanes.of(model);
    if (choices.length > 0) return choices;
    throw new ApiError('not_found', `no model ${model.slice(0, 120)} here; GET /v1/models lists what there is`);
  }

  /** Answers a request of one of the three protocols. */
  async run(context: Context, asked: Asked): Promise<void> {
    const choices = this.choicesFor(context, asked.body.model);
    await this.#answer(context, asked.body, choices, (choice, timers, bill) =>
      this.#ask(context, asked, choice, timers, bill),
    );
  }

  async #answer(context: Context, body: Value, choices: readonly Choice[], ask: Ask): Promise<void> {
    const giveBack = this.place(context);
    try {
      const bill = await this.meter.open(context, body, context.bodyBytes.length, choices);
      context.accountItself();
      try {
        await this.#failover(context, choices, (choice, timers) => ask(choice, timers, bill));
      } catch (error) {
        await bill.close(undefined, undefined, { status: error instanceof ApiError ? error.status : 499 });
        if (!context.signal.aborted) throw error;
      }
    } finally {
      giveBack();
    }
  }

  /** Takes a place for an answer; answers what gives it back. Throws 429. */
  place({ actor }: Pick<Asker, 'actor'>): () => void {
    const giveBack = this.#places.take(actor.accountId);
    if (giveBack) return giveBack;
    const message = 'this account has too many answers under way; let some end';
    throw new ApiError('rate_limit_exceeded', message, { headers: { 'retry-after': '1' } });
  }

  /**
   * Asks models turn by turn for one request, whose place and bill this holds: `work` asks for turns, and answers with
   * which status it ended and how many bytes were sent.
   */
  async inTurns(asker: Asker, body: Value, choices: readonly Choice[], work: TurnWork): Promise<void> {
    const giveBack = this.place(asker);
    let bill: Bill | undefined;
    const ask: AskTurn = async (turn) => {
      const { bytes } = turn;
      if (bill) await bill.extend(body, bytes, choices);
      else bill = await this.meter.open(asker, body, bytes, choices);
      return this.#turn(asker, choices, turn, bill);
    };
    try {
      const { send, ...closing } = await work(ask, () => bill);
      await bill?.close(undefined, undefined, closing);
      await send?.();
    } catch (error) {
      await bill?.close(undefined, undefined, { status: error instanceof ApiError ? error.status : 499 });
      throw error;
    } finally {
      giveBack();
    }
  }

  /** One turn of a model: lane after lane until one answers. */
  #turn(asker: Asker, choices: readonly Choice[], turn: Turn, bill: Bill): Promise<Turned> {
    return this.#failover(asker, choices, async (choice, timers) => {
      const { lane } = choice;
      // It names the request; a turn is a part of one.
      const { 'idempotency-key': _, ...headers } = headersFor(lane, lane.protocol === turn.protocol, asker.headers);
      const request = { path: wires[lane.protocol].path, headers, body: turn.bodyFor(choice) };
      const answer = await askLane(this.#kernel.upstream, lane, request, timers);
      const reading = new TurnReader(choice, timers, turn);
      let isWhole = false;
      try {
        await reading.read(answer.body);
        isWhole = true;
      } finally {
        timers.stop();
        if (isWhole && !timers.isLeft) drain(answer.body, this.#kernel);
        else answer.body.destroy();
        // Of a turn that was given up before its client heard of it, another lane's counts.
        const { usage, letters } = reading;
        if (isWhole || reading.isHeard) bill.add(choice, usage, { bytes: turn.bytes, letters });
      }
      return { reply: reading.reply, lane };
    });
  }

  /** Lane after lane until one answers, or says that the request itself is wrong. */
  async #failover<T>(
    asker: Asker,
    choices: readonly Choice[],
    ask: (choice: Choice, timers: Timers) => Promise<T>,
  ): Promise<T> {
    let untranslatable: Untranslatable | undefined;
    const failures: LaneFailure[] = [];
    for (const choice of choices) {
      const { lane } = choice;
      const timers = new Timers(this.#kernel.clock, lane, asker.signal);
      this.#underWay.add(timers);
      const forget = this.#kernel.streams.watch(asker.actor, () => timers.cut('the key may not be used any more'));
      try {
        const answer = await ask(choice, timers);
        this.lanes.warm(lane);
        return answer;
      } catch (error) {
        timers.end();
        if (error instanceof Untranslatable) untranslatable ??= error;
        else if (error instanceof LaneFailure && !timers.isLeft) {
          this.lanes.cool(lane, error.coolMs);
          this.#kernel.log.warn({ lane: lane.id, reason: error.message, trace: asker.traceId }, 'a lane failed');
          failures.push(error);
        } else throw error;
      } finally {
        forget();
        this.#underWay.delete(timers);
      }
    }
    throw failures.length > 0 || !untranslatable ? allFailed(failures) : asBadRequest(untranslatable);
  }

  /** Lets answers end for a while, then cuts what is left: their clients get an error, and no end. */
  async drain(ms: number): Promise<void> {
    const { clock } = this.#kernel;
    const end = clock.monotonic() + ms;
    while (this.#underWay.size > 0 && clock.monotonic() < end) await wait(clock, 100);
    for (const timers of this.#underWay) timers.cut('the gateway shuts down');
    while (this.#underWay.size > 0 && clock.monotonic() < end + cutMs) await wait(clock, 20);
  }

  /** Answers a request of embeddings: lanes of OpenAI's protocol only, and nothing is translated. */
  async runEmbeddings(context: Context, body: Asked['body']): Promise<void> {
    const choices = this.choicesFor(context, body.model).filter(({ lane }) => lane.protocol !== 'messages');
    if (choices.length === 0) throw badRequest(`model: no lane of ${body.model} makes embeddings`);
    await this.#answer(context, body, choices, async (choice, timers, bill) => {
      const { lane, model } = choice;
      const headers = headersFor(lane, true, context.headers);
      const request = { path: '/embeddings', headers, body: spliceJson(context.bodyBytes, { model }) };
      const answer = await askLane(this.#kernel.upstream, lane, request, timers);
      const { bytes, body: said } = await readAnswer(answer, timers, 'data');
      timers.stop();
      const closing = { status: 200, guess: { bytes: context.bodyBytes.length, letters: 0 }, sent: bytes.length };
      const cost = await bill.close(choice, readChatUsage(said['usage']), closing);
      await sendWhole(context, bytes, { 'x-svc-lane': lane.id, 'x-svc-cost-micro-usd': String(cost) });
    });
  }

  /** A JSON body with another name of its model, every other byte as it is. */
  named(body: Buffer, model: string): Buffer {
    return spliceJson(body, { model });
  }

  /** Carries a request of media, and answers the bytes that come back as they come. Lanes of OpenAI's protocol only. */
  async runBytes(context: Context, body: Value & { model: string }, media: Media): Promise<void> {
    const choices = this.choicesFor(context, body.model).filter(({ lane }) => lane.protocol !== 'messages');
    if (choices.length === 0) throw badRequest(`model: no lane of ${body.model} does this`);
    await this.#answer(context, body, choices, async (choice, timers, bill) => {
      const { lane, model } = choice;
      const { body: sent, type } = await media.bodyFor(model);
      const headers = { ...headersFor(lane, true, context.headers), 'content-type': type };
      const answer = await askLane(this.#kernel.upstream, lane, { path: media.path, headers, body: sent }, timers);
      const relay = context.openRelay();
      const { counted, isWhole } = await relayBytes(answer, relay, timers, { 'x-svc-lane': lane.id, ...streamCost });
      timers.stop();
      const guess = { bytes: 0, letters: 0 };
      await bill.close(choice, counted, { status: timers.isLeft ? 499 : 200, guess, sent: relay.bytes });
      if (isWhole) relay.end();
      else relay.destroy();
    });
  }

  async #ask(context: Context, { protocol, body }: Asked, choice: Choice, timers: Timers, bill: Bill): Promise<void> {
    const { lane, model } = choice;
    const isSame = lane.protocol === protocol;
    const { tellsUsage, bytes } = isSame
      ? sameRequest(context.bodyBytes, body, protocol, model)
      : { tellsUsage: asksUsage(body), bytes: translated(protocol, body, choice) };
    const headers = headersFor(lane, isSame, context.headers);
    const { path } = wires[lane.protocol];
    const answer = await askLane(this.#kernel.upstream, lane, { path, headers, body: bytes }, timers);
    const created = Math.floor(this.#kernel.clock.now() / 1000);
    const { length: sentBytes } = context.bodyBytes;
    const head = { 'x-svc-lane': lane.id };
    if (body.stream === true) {
      const relay = context.openRelay();
      const stream = new StreamRelay(
        {
          client: protocol,
          lane: lane.protocol,
          tellsUsage,
          created,
          head: { ...head, ...streamHead },
          onContent: () => context.dropBody(),
        },
        relay,
        timers,
      );
      const isWhole = await stream.run(answer.body);
      timers.stop();
      if (!isWhole || timers.isLeft) answer.body.destroy();
      else drain(answer.body, this.#kernel);
      const guess = { letters: stream.letters, bytes: sentBytes };
      await bill.close(choice, stream.usage, { status: timers.isLeft ? 499 : 200, guess, sent: relay.bytes });
      relay.end();
      return;
    }
    const { bytes: whole, body: said } = await readAnswer(answer, timers, wires[lane.protocol].list);
    timers.stop();
    const usage = wires[lane.protocol].readUsage(said['usage']);
    const text = isSame
      ? whole
      : Buffer.from(JSON.stringify(wires[protocol].writeReply(wires[lane.protocol].readReply(said), created)));
    const guess = { letters: whole.length, bytes: sentBytes };
    const cost = await bill.close(choice, usage, { status: 200, guess, sent: text.length });
    await sendWhole(context, text, { ...head, 'x-svc-cost-micro-usd': String(cost) });
  }
}

/** Asks one lane, and answers the client. */
type Ask = (choice: Choice, timers: Timers, bill: Bill) => Promise<void>;

/** A request of media: where it goes, and its body for the lane's name of the model. */
export interface Media {
  path: string;
  bodyFor(model: string): Promise<MediaBody> | MediaBody;
}
type MediaBody = { body: Buffer; type: string };

const streamCost = { 'x-svc-cost-estimate': 'pending' };

const streamHead = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  ...streamCost,
};

/** Sends an answer that is whole. */
export async function sendWhole(context: Context, text: Buffer, headers: Record<string, string>): Promise<void> {
  const relay = context.openRelay();
  const type = { 'content-type': 'application/json; charset=utf-8', 'content-length': String(text.length) };
  relay.open(200, { ...type, ...headers });
  await relay.write(text);
  relay.end();
}

/** Reads past what follows the last word, so that the connection can be used again. */
function drain(body: NodeJS.ReadableStream & { destroy(): unknown }, { clock }: Kernel): void {
  const cancel = clock.after(1_000, () => body.destroy());
  body.once('close', cancel);
  body.resume();
}

const asksUsage = (body: Value): boolean => objectOf(body['stream_options'])['include_usage'] === true;

/** The client's own bytes with the lane's name of the model; of a chat stream the usage is asked for too. */
function sameRequest(given: Buffer, body: Value & { stream?: boolean | undefined }, protocol: Protocol, model: string) {
  const tellsUsage = asksUsage(body);
  const options =
    protocol === 'chat' && body.stream === true && !tellsUsage
      ? { stream_options: { ...objectOf(body['stream_options']), include_usage: true } }
      : {};
  return { tellsUsage, bytes: spliceJson(given, { model, ...options }) };
}

function translated(protocol: Protocol, body: Value, { lane, model }: Choice): string {
  const conversation: Conversation = wires[protocol].readRequest(body);
  return JSON.stringify(wires[lane.protocol].writeRequest(conversation, model, lane.maxOutputTokens));
}

const asBadRequest = ({ field, message }: Untranslatable): ApiError =>
  badRequest(`${field}: ${message}`, { [field]: [message] });

/** What a client is told when no lane answered: 502, with `Retry-After` when every lane said that it has too much to do. */
export function allFailed(failures: readonly LaneFailure[]): ApiError {
  const areBusy = failures.every(({ retryAfterSeconds }) => retryAfterSeconds !== undefined);
  if (!areBusy)
    return new ApiError('upstream_error', 'every lane of this model failed; try again, or use another model');
  const seconds = Math.min(...failures.map(({ retryAfterSeconds = busySeconds }) => retryAfterSeconds));
  return new ApiError('upstream_error', 'every lane of this model has too much to do; try again later', {
    headers: { 'retry-after': String(Math.max(1, seconds)) },
  });
}
