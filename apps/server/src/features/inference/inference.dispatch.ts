import {
  type Bounds,
  boundedFields,
  boundsOf,
  duplicateName,
  type Protocol,
  spliceJson,
  Untranslatable,
  type Value,
  wires,
} from '@svc/inference';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import { askVectors, type Vectors } from './inference.vectors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { Share } from '../../kernel/share/share.ts';
import type { Spending } from '../keys/index.ts';
import { type Choice, Lanes } from '../providers/index.ts';
import { admitted, checkModels, storedWith } from './inference.admit.ts';
import { askLane, expectStream, headersFor } from './inference.attempt.ts';
import {
  type Asked,
  countPath,
  drain,
  exchange,
  exchangeBytes,
  exchangeCount,
  exchangeVectors,
  keepAlive,
  limited,
  type Media,
  reshaped,
  questionOf,
  sendWhole,
} from './inference.exchange.ts';
import { asBadRequest, Failover, type Way } from './inference.failover.ts';
import { type Asker, type Bill, Meter, type MostOn, usualBytesOfToken, within } from './inference.meter.ts';
import type { Timers } from './inference.timers.ts';
import { type AskTurn, type ModelTurn, type Turned, TurnReader, type TurnWork } from './inference.turn.ts';

/** Answers that are under way at once in a process, and those of one account. */
const places = { total: 8_192, ofOne: 4_096 };
/** Tokens of an answer without a limit, of a key with a cap. */
const usualOutput = 8_192;
/** Carries requests to lanes, one after the other until one answers. */
export class Inference {
  readonly lanes: Lanes;
  readonly meter: Meter;
  readonly #kernel: Kernel;
  readonly #places = new Share(places);
  readonly #failover: Failover;

  constructor(kernel: Kernel, spending: Spending) {
    this.#kernel = kernel;
    this.lanes = new Lanes(kernel);
    this.meter = new Meter(kernel, spending);
    this.#failover = new Failover(kernel, this.lanes);
  }

  /** The lanes that a key may ask for a model, and may send `body` to; throws 400, 403, 404, or 502 without any lane. */
  choicesFor({ actor }: Pick<Asker, 'actor'>, model: string, body: Value = {}): Choice[] {
    if (actor.models && !actor.models.includes(model)) {
      throw new ApiError('forbidden', `this key may not use the model ${model}; it may use ${actor.models.join(', ')}`);
    }
    if (this.lanes.isEmpty) {
      throw new ApiError('upstream_error', 'no model provider is set up; add one with: ./svc providers add');
    }
    checkModels(actor, body);
    const choices = this.lanes.of(model);
    if (choices.length === 0)
      throw new ApiError('not_found', `no model ${model.slice(0, 120)} here; GET /v1/models lists what there is`);
    if (actor.spendCapMicroUsd === undefined) return admitted(body, choices);
    const priced = choices.filter(({ lane, model: name }) => lane.priceOf(name) !== undefined);
    if (priced.length > 0) return admitted(body, priced);
    const message = `the model ${model} has no price, and this key has a spend cap; the operator adds one with ./svc providers prices, or says "free": true of the lane`;
    throw new ApiError('forbidden', message);
  }

  /** Answers a request of one of the three protocols. */
  async run(context: Context, asked: Asked): Promise<void> {
    const { protocol, body } = asked;
    const { actor } = context;
    const named = this.choicesFor(context, body.model, body);
    const isJudged = actor.models !== undefined || named.some(({ lane }) => lane.forbid.length > 0);
    if (isJudged || actor.spendCapMicroUsd !== undefined) refuseTwins(context.bodyBytes);
    const choices = protocol === 'responses' ? await storedWith(this.#kernel, actor, body, named) : named;
    const { bounds, fields } = this.#bounded(context, asked, context.bodyBytes.length, choices);
    const question = questionOf(context, asked, bounds && fields);
    const { isStreamed } = question;
    const isTranslated = ({ lane }: Choice): boolean => lane.protocol !== protocol;
    const way = { routeOf: ({ lane }: Choice) => wires[lane.protocol].path, isTranslated, isStreamed };
    const stop = isStreamed ? keepAlive(context, protocol) : () => {};
    try {
      await this.#answer(context, choices, way, within(bounds, isTranslated), (choice, timers, bill) =>
        exchange({ kernel: this.#kernel, context, choice, timers, bill }, question),
      );
    } catch (error) {
      stop();
      if (!isStreamed || !(await endOpen(context, protocol, error))) throw error;
    } finally {
      stop();
      await question.resting.close();
    }
  }

  /** The request within the bounds that a key with a cap has; of another key it stays as it is. */
  bounded({ actor }: Pick<Asker, 'actor'>, protocol: Protocol, body: Value, choices: readonly Choice[]): Value {
    return { ...body, ...this.#bounded({ actor }, { protocol, body }, 0, choices).fields };
  }

  #bounded(
    { actor }: Pick<Asker, 'actor'>,
    { protocol, body }: { protocol: Protocol; body: Value },
    bytes: number,
    choices: readonly Choice[],
  ): { bounds: Bounds | undefined; fields: Record<string, unknown> } {
    if (actor.spendCapMicroUsd === undefined) return { bounds: undefined, fields: {} };
    const usual = Math.max(...choices.map(({ lane }) => lane.maxOutputTokens ?? usualOutput));
    try {
      const bounds = boundsOf(protocol, body, bytes, usual);
      return { bounds, fields: boundedFields(protocol, body, bounds) };
    } catch (error) {
      throw error instanceof Untranslatable ? asBadRequest(error) : error;
    }
  }

  async #answer(context: Context, choices: readonly Choice[], way: Way, most: MostOn, ask: Ask): Promise<void> {
    const giveBack = this.place(context);
    try {
      const bill = await this.meter.open(context, choices, most);
      context.accountItself();
      try {
        await this.#failover.run(context, choices, way, (choice, timers) => ask(choice, timers, bill));
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
   * which status it ended and how many bytes were sent. `body` is within its bounds (`bounded`).
   */
  async inTurns(asker: Asker, body: Value, choices: readonly Choice[], work: TurnWork): Promise<void> {
    const giveBack = this.place(asker);
    let bill: Bill | undefined;
    const ask: AskTurn = async (turn) => {
      const { bounds } = this.#bounded(asker, { protocol: turn.protocol, body }, turn.bytes, choices);
      const most = within(bounds, ({ lane }) => lane.protocol !== turn.protocol);
      if (bill) await bill.extend(choices, most);
      else bill = await this.meter.open(asker, choices, most);
      return this.#turn(asker, choices, turn, bill, bounds);
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
  #turn(
    asker: Asker,
    choices: readonly Choice[],
    turn: ModelTurn,
    bill: Bill,
    bounds: Bounds | undefined,
  ): Promise<Turned> {
    const way: Way = {
      routeOf: ({ lane }) => wires[lane.protocol].path,
      isTranslated: ({ lane }) => lane.protocol !== turn.protocol,
      isStreamed: true,
    };
    return this.#failover.run(asker, choices, way, async (choice, timers) => {
      const { lane } = choice;
      const headers = await headersFor(lane, lane.protocol === turn.protocol, asker.headers);
      const text = turn.bodyFor(choice);
      const body = bounds ? limited(text, choice, bounds.limit) : text;
      const request = { path: wires[lane.protocol].path, headers, body: reshaped(body, choice).sent };
      const answer = await askLane(this.#kernel.upstream, lane, request, timers);
      await expectStream(answer);
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

  /** Lets answers end for a while, then cuts what is left. */
  drain(ms: number): Promise<void> {
    return this.#failover.drain(ms);
  }

  /** Answers a request of embeddings: lanes of OpenAI's protocol only, and nothing is translated. */
  async runEmbeddings(context: Context, body: Asked['body']): Promise<void> {
    const choices = this.choicesFor(context, body.model, body).filter(({ lane }) => lane.protocol !== 'messages');
    if (choices.length === 0) throw badRequest(`model: no lane of ${body.model} makes embeddings`);
    const most = { input: context.bodyBytes.length, output: 0 };
    const way = { routeOf: () => '/embeddings', isStreamed: false };
    await this.#answer(
      context,
      choices,
      way,
      () => most,
      (choice, timers, bill) => exchangeVectors({ kernel: this.#kernel, context, choice, timers, bill }),
    );
  }

  /** Vectors of texts for a feature. Throws as `choicesFor` does, and 502 when no lane gives them. */
  vectors(asker: Asker, model: string, texts: readonly string[]): Promise<Vectors> {
    const choices = this.choicesFor(asker, model).filter(({ lane }) => lane.protocol !== 'messages');
    return askVectors({ kernel: this.#kernel, failover: this.#failover, meter: this.meter }, asker, choices, texts);
  }

  /** Counts what a request of messages sends: the lane's own count, else a guess. Nothing is charged. */
  async countTokens(context: Context, body: Asked['body']): Promise<void> {
    const named = this.choicesFor(context, body.model, body);
    const choices = named.filter(({ lane, after }) => lane.protocol === 'messages' && !after);
    const giveBack = this.place(context);
    try {
      const way = { routeOf: () => countPath, isStreamed: false };
      await this.#failover.run(context, choices, way, (choice, timers) =>
        exchangeCount({ kernel: this.#kernel, context, choice, timers }, body),
      );
    } catch (error) {
      // Not every server of this protocol counts.
      if (!(error instanceof ApiError && error.code === 'upstream_error')) throw error;
      const guess = Math.ceil(context.bodyBytes.length / usualBytesOfToken);
      await sendWhole(context, Buffer.from(JSON.stringify({ input_tokens: guess })), { 'x-svc-estimated': 'true' });
    } finally {
      giveBack();
    }
  }

  /** A JSON body with another name of its model, every other byte as it is. */
  named(body: Buffer, model: string): Buffer {
    return spliceJson(body, { model });
  }

  /** Carries a request of media, and answers the bytes that come back as they come. Lanes of OpenAI's protocol only. */
  async runBytes(context: Context, body: Value & { model: string }, media: Media): Promise<void> {
    const choices = this.choicesFor(context, body.model, body).filter(({ lane }) => lane.protocol !== 'messages');
    if (choices.length === 0) throw badRequest(`model: no lane of ${body.model} does this`);
    const way = { routeOf: () => media.path, isStreamed: true };
    await this.#answer(
      context,
      choices,
      way,
      () => media.most,
      (choice, timers, bill) => exchangeBytes({ kernel: this.#kernel, context, choice, timers, bill }, media),
    );
  }
}

/** Asks one lane, and answers the client. */
type Ask = (choice: Choice, timers: Timers, bill: Bill) => Promise<void>;

/** Of two fields with one name the provider may take the one that was not judged. */
function refuseTwins(bytes: Buffer): void {
  const name = duplicateName(bytes);
  if (name !== undefined) throw badRequest(`${name}: stands twice`, { [name]: ['stands twice'] });
}

/** Ends an answer that was opened to show that it lives, with the protocol's error; false when it is not open. */
async function endOpen(context: Context, protocol: Protocol, error: unknown): Promise<boolean> {
  const relay = context.openRelay();
  if (!relay.isOpen) return false;
  const message = error instanceof ApiError ? error.message : 'the request failed';
  await relay.write(wires[protocol].errorFrame(message));
  relay.end();
  return true;
}
