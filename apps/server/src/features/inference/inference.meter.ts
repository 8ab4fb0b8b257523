import { type Bounds, noUsage, type Usage } from '@svc/inference';
import { type Batches, createBatches } from '../../kernel/work/batches.ts';
import type { Context } from '../../kernel/http/context.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Reservation, Spending } from '../keys/index.ts';
import type { Choice } from '../providers/index.ts';
import { costOf, type Most, mostCostOf } from '../providers/index.ts';
import { insertRequests, type RequestRow } from './inference.sql.ts';

/** Bytes of a token of usual text; for a guess. */
export const usualBytesOfToken = 4;
const most = 50_000;
const atOnce = 1_000;

/** On whose behalf models are asked: a request, or a run of the scheduler. */
export type Asker = Pick<
  Context,
  'actor' | 'traceId' | 'signal' | 'headers' | 'deviceId' | 'operationId' | 'startedAt'
>;

/** The sizes from which tokens are guessed when the upstream counted none. */
interface Guess {
  bytes: number;
  letters: number;
}

/** How a request ended. */
export interface Closing {
  status: number;
  guess?: Guess;
  /** Bytes of the answer. */
  sent?: number;
}

/** The cost of requests: reserved before one is sent, recorded once when it ended. */
export class Meter {
  readonly #kernel: Kernel;
  readonly #spending: Spending;
  readonly #receipts: Batches<RequestRow>;

  constructor(kernel: Kernel, spending: Spending) {
    this.#kernel = kernel;
    this.#spending = spending;
    const write = (rows: RequestRow[]): Promise<void> => insertRequests(kernel.sql, rows);
    this.#receipts = createBatches(kernel, { name: 'receipts', most, atOnce, write });
  }

  /** Reserves the most that the request may cost on any of its lanes; throws 429 when a cap is reached. */
  async open(asker: Asker, choices: readonly Choice[], most: MostOn): Promise<Bill> {
    const reservation = await this.#spending.reserve(asker.actor, costAtMost(choices, most));
    return new Bill(this.#kernel, asker, reservation, this.#receipts);
  }

  /** Writes the receipts that are held. */
  async close(): Promise<void> {
    await this.#receipts.close();
  }
}

/** The most tokens that a request may take on a lane. */
export type MostOn = (choice: Choice) => Most;

/** The same of a request within its bounds. Where it is translated, thinking comes on top of its limit. */
export const within =
  (bounds: Bounds | undefined, isRaised: (choice: Choice) => boolean): MostOn =>
  (choice) => {
    // Without a cap nothing is reserved.
    if (!bounds) return { input: 0, output: 0 };
    const { limit, answers, predicted, input, uses, thinking } = bounds;
    return { input, output: (limit + (isRaised(choice) ? thinking : 0)) * answers + predicted, uses };
  };

const costAtMost = (choices: readonly Choice[], most: MostOn): number =>
  Math.max(0, ...choices.map((choice) => mostCostOf(most(choice), choice.lane.priceOf(choice.model))));

/** The cost of one request, in one turn of a model or several. */
export class Bill {
  readonly #kernel: Kernel;
  readonly #asker: Asker;
  readonly #reservation: Reservation;
  readonly #receipts: Batches<RequestRow>;

  #total: { choice: Choice; usage: Usage; isPriced: boolean; isGuessed: boolean } | undefined;
  /** Cost so far, in micro-USD. */
  cost = 0;

  constructor(kernel: Kernel, asker: Asker, reservation: Reservation, receipts: Batches<RequestRow>) {
    this.#kernel = kernel;
    this.#asker = asker;
    this.#reservation = reservation;
    this.#receipts = receipts;
  }

  /** Adds what a turn took of a lane: what the upstream counted, else a guess. */
  add(choice: Choice, counted: Usage | undefined, guess?: Guess): void {
    const usage = counted ?? (guess && guessed(guess));
    if (!usage) return;
    const price = choice.lane.priceOf(choice.model);
    this.cost += costOf(usage, price);
    const before = this.#total;
    this.#total = {
      choice,
      usage: before ? sumOf(before.usage, usage) : usage,
      isPriced: price !== undefined && before?.isPriced !== false,
      isGuessed: counted === undefined || before?.isGuessed === true,
    };
  }

  /** Tokens of all turns so far. */
  get usage(): Usage {
    return this.#total?.usage ?? noUsage;
  }

  /** Reserves the most that the next turn may cost; throws 429 when a cap is reached. */
  async extend(choices: readonly Choice[], most: MostOn): Promise<void> {
    await this.#reservation.extend(this.cost, costAtMost(choices, most));
  }

  /** Records what the request took and cost, the last turn's among it; answers the cost in micro-USD. */
  async close(
    choice: Choice | undefined,
    counted: Usage | undefined,
    { status, guess, sent = 0 }: Closing,
  ): Promise<number> {
    const { clock } = this.#kernel;
    const { actor, deviceId, traceId, operationId, startedAt } = this.#asker;
    if (choice) this.add(choice, counted, guess);
    const at = clock.now();
    await this.#reservation.settle({
      at,
      accountId: actor.accountId,
      keyId: actor.keyId,
      deviceId,
      route: operationId,
      status,
      bytes: sent,
      ms: Math.round(clock.monotonic() - startedAt),
      costMicroUsd: this.cost,
      traceId,
    });
    if (this.#total) {
      const { choice: last, usage, isPriced, isGuessed } = this.#total;
      this.#receipts.add({
        account_id: actor.accountId,
        key_id: actor.keyId,
        trace_id: traceId,
        model: last.model,
        lane: last.lane.id,
        input_tokens: usage.input,
        output_tokens: usage.output,
        cached_tokens: usage.cached,
        cost_micro_usd: this.cost,
        priced: isPriced,
        estimated: isGuessed,
        created_at: new Date(at).toISOString(),
      });
    }
    return this.cost;
  }
}

const sumOf = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cached: a.cached + b.cached,
  cacheWritten: a.cacheWritten + b.cacheWritten,
  reasoning: a.reasoning + b.reasoning,
  searches: (a.searches ?? 0) + (b.searches ?? 0),
});

const guessed = ({ bytes, letters }: Guess): Usage => ({
  ...noUsage,
  input: Math.ceil(bytes / usualBytesOfToken),
  output: Math.ceil(letters / usualBytesOfToken),
});
