import { setTimeout as delay } from 'node:timers/promises';
import type { Route } from '@svc/contract';
import {
  type ExampleRequest,
  prepareExample,
  routeOf,
  Scene,
  sendRequest,
} from '../../apps/server/src/testing.examples.ts';
import { preparations } from '../../apps/server/src/testing.preparations.ts';
import { createAccount } from '../../apps/server/src/testing.ts';
import { between, type Counter, type Counts } from './counts.ts';
import { variants } from './variants.ts';
import type { World } from './world.ts';

/** An answer, or that there was none. */
export interface Said {
  /** 0: none came. */
  readonly status: number;
  readonly code: string | undefined;
  readonly body: unknown;
}

/** In words, for tables and findings. */
export const wordsOf = ({ status, code }: Said): string =>
  status === 0 ? 'no answer' : `${status}${code === undefined ? '' : ` ${code}`}`;

/** One request in an account of its own, with what it needs made by the helper. */
export class Attempt implements AsyncDisposable {
  /** `operationId`. */
  readonly id: string;
  readonly route: Route;
  readonly scene: Scene;
  readonly #world: World;
  readonly #counter: Counter;
  readonly #request: ExampleRequest;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #before: Counts;

  private constructor(
    world: World,
    counter: Counter,
    {
      id,
      scene,
      route,
      request,
      before,
    }: { id: string; scene: Scene; route: Route; request: ExampleRequest; before: Counts },
  ) {
    this.#world = world;
    this.#counter = counter;
    this.id = id;
    this.scene = scene;
    this.route = route;
    this.#request = request;
    this.#before = before;
    this.#headers = route.idempotent ? { 'idempotency-key': `torture-${scene.account.id}` } : {};
  }

  /** Makes what the example of an operation needs. */
  static async of(world: World, counter: Counter, id: string): Promise<Attempt> {
    const scene = new Scene(world.helper, await createAccount(world.helper), world.around.makers);
    const variant = variants[id];
    const example = await prepareExample(scene, id, variant ?? preparations[id]);
    const request = variant?.change(example) ?? example;
    const route = routeOf(id);
    if (route.only === 'login') await scene.login();
    await world.pass(batchMs);
    const before = await steady(() => counter.count(scene.account.id));
    return new Attempt(world, counter, { id, scene, route, request, before });
  }

  /** Sends the request to the victim; the client leaves when `leaves` says so, and gives up after a while. */
  async send(leaves?: AbortSignal): Promise<Said> {
    using _time = this.#world.passTime(passAfterMs);
    try {
      const answer = await sendRequest(this.scene, this.route, this.#request, {
        url: this.#world.victim.url,
        headers: this.#headers,
        signal: AbortSignal.any([AbortSignal.timeout(givesUpMs), ...(leaves ? [leaves] : [])]),
      });
      const text = await answer.text();
      const isJson = answer.headers.get('content-type')?.includes('json') === true;
      const body: unknown = isJson ? JSON.parse(text) : text;
      const code = answer.status < 400 ? undefined : (body as { error?: { code?: string } }).error?.code;
      return { status: answer.status, code, body };
    } catch {
      return { status: 0, code: undefined, body: undefined };
    } finally {
      await this.#world.hear();
    }
  }

  /** Sends it again as a client does that was told to, until it hears something else. */
  async repeat(): Promise<Said> {
    let said = await this.send();
    for (let tries = 0; tries < mostTries && isPassing(said); tries++) {
      await delay(pauseMs * (tries + 1));
      said = await this.send();
    }
    return said;
  }

  /** What became more or fewer by now; waits until it is enough, or stays as it is for half a minute of the gateways. */
  async changes(isEnough?: (changes: ReadonlyMap<string, number>) => boolean): Promise<Map<string, number>> {
    const isWanted = (after: Counts): boolean => isEnough?.(between(this.#before, after)) === true;
    const look = () => this.#counter.count(this.scene.account.id);
    let after = await steady(look, isWanted);
    // A message of the bus was lost with the connection: who waits for one looks again in its time.
    for (
      let seconds = 0;
      !isWanted(after) && seconds < (isEnough ? mostSeconds : lookSeconds);
      seconds += lookSeconds
    ) {
      await this.#world.pass(lookSeconds * 1_000);
      after = await steady(look, isWanted);
    }
    return between(this.#before, after);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.scene[Symbol.asyncDispose]();
  }
}

/** A request that takes longer waits for something: from then on time passes for the gateways. */
const passAfterMs = 6_000;
/** A client waits for so long. */
const givesUpMs = 20_000;
const mostTries = 8;
const pauseMs = 100;
const isPassing = ({ status, code }: Said): boolean =>
  status === 0 || status === 503 || code === 'idempotency_in_flight';

/** Records that are written in batches are there after this. */
const batchMs = 2_000;
/** Every loop that waits for a message looks by itself within this. */
const mostSeconds = 30;
const lookSeconds = 5;
const lookEveryMs = 15;
const steadyLooks = 3;
const mostLooks = 60;
/** Work that a gateway does at once, by what it takes longer than the looks that find nothing new; it has so many looks more. */
const atWork = ['transcripts.steps:waiting', 'transcripts.steps:running'];
const mostLooksAtWork = 1_000;

/**
 * Looks until it is as wanted, or the same a few times in a row while nothing is worked on: work that follows from a request
 * goes on after its answer.
 */
async function steady(
  look: () => Promise<Counts>,
  isWanted: (counts: Counts) => boolean = () => false,
): Promise<Counts> {
  let last = await look();
  let same = 0;
  const most = () => (atWork.some((name) => last.has(name)) ? mostLooksAtWork : mostLooks);
  for (let looks = 0; looks < most() && !isWanted(last) && same < steadyLooks; looks++) {
    await delay(lookEveryMs);
    const next = await look();
    same = between(last, next).size === 0 && !atWork.some((name) => next.has(name)) ? same + 1 : 0;
    last = next;
  }
  return last;
}
