import { Untranslatable } from '@svc/inference';
import type { Clock } from '../../kernel/base/clock.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Choice, Lanes } from '../providers/index.ts';
import { hidden, LaneFailure, Refusal } from './inference.attempt.ts';
import type { Asker } from './inference.meter.ts';
import { Timers } from './inference.timers.ts';

const busySeconds = 30;
/** Time for the last words of what is cut. */
const cutMs = 1_000;
const mostReasons = 5;
const longestReason = 200;

const wait = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

/** How lanes are asked for one request. */
export interface Way {
  /** Which of a lane's routes is asked. */
  routeOf: (choice: Choice) => string;
  /** The lane gets the request in our words: what it finds wrong there may be our fault. */
  isTranslated?: (choice: Choice) => boolean;
  /** The answer comes as it is made; a whole one is limited by its total alone. */
  isStreamed: boolean;
}

/** Asks lanes one after the other until one answers. */
export class Failover {
  readonly #kernel: Kernel;
  readonly #lanes: Lanes;
  readonly #underWay = new Set<Timers>();

  constructor(kernel: Kernel, lanes: Lanes) {
    this.#kernel = kernel;
    this.#lanes = lanes;
  }

  /** Lane after lane until one answers, or says that the request itself is wrong. */
  async run<T>(
    asker: Asker,
    choices: readonly Choice[],
    way: Way,
    ask: (choice: Choice, timers: Timers) => Promise<T>,
  ): Promise<T> {
    let refusal: Error | undefined;
    const failures: LaneFailure[] = [];
    const queue = this.#lanes.inOrder(
      choices.filter(({ after }) => !after),
      way.routeOf,
    );
    for (const choice of queue) {
      try {
        return await this.#one(asker, choice, way, ask);
      } catch (error) {
        const further = behind(choices, choice, error);
        if (further.length > 0) {
          queue.push(...further);
          refusal ??= error as Error;
          continue;
        }
        const isOurs = way.isTranslated?.(choice) === true && isRefusal(error);
        if (isOurs || error instanceof Untranslatable) refusal ??= error;
        else if (error instanceof LaneFailure) failures.push(error);
        else throw error;
      }
    }
    if (refusal instanceof Untranslatable && failures.length > 0) throw allFailed(failures);
    throw refusal instanceof Untranslatable ? asBadRequest(refusal) : (refusal ?? allFailed(failures));
  }

  async #one<T>(
    asker: Asker,
    choice: Choice,
    way: Way,
    ask: (choice: Choice, timers: Timers) => Promise<T>,
  ): Promise<T> {
    const { lane } = choice;
    const { health } = this.#lanes;
    const route = way.routeOf(choice);
    const timers = new Timers(this.#kernel.clock, lane, asker.signal, way.isStreamed);
    this.#underWay.add(timers);
    const forget = this.#kernel.streams.watch(asker.actor, () => timers.cut('the key may not be used any more'));
    const told = { lane: lane.id, model: choice.model, trace: asker.traceId };
    try {
      const answer = await ask(choice, timers);
      if (!timers.isCut) health.answered(choice, route);
      return answer;
    } catch (error) {
      timers.end();
      if (error instanceof LaneFailure && !timers.isLeft) {
        error.lane = lane.id;
        // A provider may repeat it in its own words.
        error.message = hidden(error.message, lane);
        if (!timers.isOurs) health.failed(choice, route, error);
        this.#kernel.log.warn({ ...told, reason: error.message }, 'a lane failed');
      }
      throw timers.isLeft && error instanceof LaneFailure ? new ClientLeft() : error;
    } finally {
      if (timers.isCut && !timers.isLeft && !timers.isOurs) {
        health.cut(choice, route);
        this.#kernel.log.warn(told, 'a lane broke its answer off');
      }
      forget();
      this.#underWay.delete(timers);
    }
  }

  /** Lets answers end for a while, then cuts what is left: their clients get an error, and no end. */
  async drain(ms: number): Promise<void> {
    const { clock } = this.#kernel;
    const end = clock.monotonic() + ms;
    while (this.#underWay.size > 0 && clock.monotonic() < end) await wait(clock, 100);
    for (const timers of this.#underWay) timers.cut('the gateway shuts down');
    while (this.#underWay.size > 0 && clock.monotonic() < end + cutMs) await wait(clock, 20);
  }
}

/** Nobody waits for the answer any more. */
class ClientLeft extends Error {
  override name = 'ClientLeft';
}

/** Lanes that a lane's refusal leads to; what such a lane refuses leads no further. */
function behind(choices: readonly Choice[], { lane, after: before }: Choice, error: unknown): Choice[] {
  const reason = error instanceof Refusal || error instanceof LaneFailure ? error.reason : undefined;
  if (reason === undefined || before) return [];
  return choices.filter(({ after }) => after?.lane === lane.id && after.reason === reason);
}

const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.code === 'bad_request' || error.code === 'upstream_rejected');

/** 400 for what no lane of a model can be asked. */
export const asBadRequest = ({ field, message }: Untranslatable): ApiError =>
  badRequest(`${field}: ${message}`, { [field]: [message] });

/** The error when no lane answered: 502, with `Retry-After` when every lane said that it has too much to do. */
export function allFailed(failures: readonly LaneFailure[]): ApiError {
  const areBusy = failures.every(({ retryAfterSeconds }) => retryAfterSeconds !== undefined);
  const reasons = failures
    .slice(0, mostReasons)
    .map(({ lane, message }) => `${lane ?? 'a lane'}: ${message.slice(0, longestReason)}`);
  const why = reasons.length > 0 ? ` (${reasons.join('; ')})` : '';
  if (!areBusy)
    return new ApiError('upstream_error', `every lane of this model failed${why}; try again, or use another model`);
  const seconds = Math.min(...failures.map(({ retryAfterSeconds = busySeconds }) => retryAfterSeconds));
  return new ApiError('upstream_error', `every lane of this model has too much to do${why}; try again later`, {
    headers: { 'retry-after': String(Math.max(1, seconds)) },
  });
}
