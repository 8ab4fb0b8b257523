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
    { scene, route, request, before }: { scene: Scene; route: Route; request: ExampleRequest; before: Counts },
  ) {
    this.#world = world;
    this.#counter = counter;
    this.scene = scene;
    this.route = route;
    this.#request = request;
    this.#before = before;
    this.#headers = route.idempotent ? { 'idempotency-key': `torture-${scene.account.id}` } : {};
  }

  /** Makes what the example of an operation needs. */
  static async of(world: World, counter: Counter, id: string): Promise<Attempt> {
    const scene = new Scene(world.helper, await createAccount(world.helper), world.around.makers);
    const request = await prepareExample(scene, id, preparations[id]);
    const route = routeOf(id);
    if (route.only === 'login') await scene.login();
    const before = await steady(() => counter.count(scene.account.id));
    return new Attempt(world, counter, { scene, route, request, before });
  }

  /** Sends the request to the victim; `withinMs` after which a client gives up. */
  async send(withinMs = 20_000): Promise<Said> {
    using _time = this.#world.passTime(passAfterMs);
    try {
      const answer = await sendRequest(this.scene, this.route, this.#request, {
        url: this.#world.victim.url,
        headers: this.#headers,
        signal: AbortSignal.timeout(withinMs),
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

  /** What became more or fewer by now; waits until it is as `wanted` says, or stays as it is. */
  async changes(wanted?: ReadonlyMap<string, number>): Promise<Map<string, number>> {
    const isWanted = (after: Counts): boolean =>
      wanted !== undefined && between(wanted, between(this.#before, after)).size === 0;
    const after = await steady(() => this.#counter.count(this.scene.account.id), isWanted);
    return between(this.#before, after);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.scene[Symbol.asyncDispose]();
  }
}

/** A request that takes longer waits for something: from then on time passes for the gateways. */
const passAfterMs = 6_000;
const mostTries = 8;
const pauseMs = 100;
const isPassing = ({ status, code }: Said): boolean =>
  status === 0 || status === 503 || code === 'idempotency_in_flight';

const lookEveryMs = 15;
const steadyLooks = 3;
const mostLooks = 60;

/** Looks until it is as wanted, or the same a few times in a row: work that follows from a request goes on after its answer. */
async function steady(
  look: () => Promise<Counts>,
  isWanted: (counts: Counts) => boolean = () => false,
): Promise<Counts> {
  let last = await look();
  let same = 0;
  for (let looks = 0; looks < mostLooks && !isWanted(last) && same < steadyLooks; looks++) {
    await delay(lookEveryMs);
    const next = await look();
    same = between(last, next).size === 0 ? same + 1 : 0;
    last = next;
  }
  return last;
}
