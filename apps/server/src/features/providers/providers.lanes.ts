import { ConfigError } from '../../config.ts';
import { systemClock } from '../../kernel/base/clock.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import {
  changeOf,
  followProviders,
  type ProvidersPlace,
  providersPath,
  readProvidersText,
} from '../../kernel/outside/providers.ts';
import {
  type AliasEntry,
  type Choice,
  entryOf,
  type LaneModel,
  parseRegistry,
  type Registry,
  type RegistryParts,
} from './providers.file.ts';
import { LaneHealth } from './providers.health.ts';
import { PriceList, pricesPath } from './providers.prices.ts';

const nothing: Registry = { lanes: [], aliases: new Map() };

/** Reads the registry of the providers file; throws `ConfigError` when it cannot be used. Without a file it is empty. */
export const readRegistry = (place: ProvidersPlace): Registry =>
  registryOf(place, systemClock, () => readProvidersText(place));

function registryOf(place: ProvidersPlace, clock: RegistryParts['clock'], read: () => string | undefined): Registry {
  try {
    const text = read();
    return text === undefined ? nothing : parseRegistry(text, { prices: PriceList.read(place.dataDir), clock });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(`SVC_PROVIDERS: ${providersPath(place)}: ${code ?? message}`);
  }
}

/** The lanes of this process: read from the file, again when it or the prices change. */
export class Lanes {
  readonly health: LaneHealth;
  readonly #kernel: Kernel;
  #registry = nothing;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.health = new LaneHealth(kernel);
  }

  /** Follows the file; with one that cannot be used the lanes of before go on, and the log says why. */
  start(): () => void {
    const kernel = this.#kernel;
    const read = (text: string | undefined): void => {
      this.#registry = registryOf(kernel, kernel.clock, () => text);
      for (const { id, key } of this.#registry.lanes)
        if (key.fault !== undefined) kernel.log.error({ lane: id, reason: key.fault }, 'a lane is off');
    };
    return followProviders(kernel, read, [pricesPath(kernel.dataDir)]);
  }

  /** When the providers file was written; milliseconds since the epoch. */
  get changedAt(): number {
    return changeOf(providersPath(this.#kernel));
  }

  get isEmpty(): boolean {
    return this.#registry.lanes.length === 0;
  }

  /** Lanes that have no key now, and why. */
  get off(): { id: string; reason: string }[] {
    return this.#registry.lanes.flatMap(({ id, key: { fault: reason } }) =>
      reason === undefined ? [] : [{ id, reason }],
    );
  }

  /** Every name that a client may ask for. */
  names(): string[] {
    const { lanes, aliases: own } = this.#registry;
    const models = lanes.flatMap((lane) => lane.models.map(({ name }) => name));
    return [...new Set([...own.keys(), ...models])];
  }

  /**
   * The lanes of a model in the order in which they are tried: of an alias as the file says, else by priority. Those
   * behind them that a lane's refusal leads to.
   */
  of(name: string): Choice[] {
    const found = this.#named(name);
    const further = found.flatMap(({ lane }): Choice[] => [
      ...this.#behind(lane.id, 'context', lane.onContext),
      ...this.#behind(lane.id, 'content', lane.onRefusal),
    ]);
    return [...found, ...further];
  }

  #behind(lane: string, reason: 'context' | 'content', next: string | undefined): Choice[] {
    if (next === undefined) return [];
    const { lanes, aliases: own } = this.#registry;
    const ids = new Set(lanes.map(({ id }) => id));
    const entries = own.get(next) ?? [entryOf(next, ids, next)];
    return entries
      .flatMap((entry) => this.#entered(entry, next))
      .map((choice) => ({ ...choice, after: { lane, reason } }));
  }

  #named(name: string): Choice[] {
    const { lanes, aliases: own } = this.#registry;
    const entries = own.get(name);
    if (entries) return entries.flatMap((entry) => this.#entered(entry, name));
    return lanes
      .flatMap((lane) => lane.models.filter((model) => model.name === name).map(({ as }) => ({ lane, model: as })))
      .sort((a, b) => a.lane.priority - b.lane.priority);
  }

  #entered({ lane: id, model: asked }: AliasEntry, name: string): Choice[] {
    const lane = this.#registry.lanes.find((one) => one.id === id);
    const model = lane && (asked ?? modelFor(lane.models, name));
    return lane && model !== undefined ? [{ lane, model: asOf(lane.models, model) }] : [];
  }

  /** The same, what is left alone by this route last: when nothing else is there, it is tried all the same. */
  inOrder(choices: readonly Choice[], route: (choice: Choice) => string): Choice[] {
    const isCooling = (choice: Choice): boolean => this.health.isCooling(choice, route(choice));
    return [...choices.filter((choice) => !isCooling(choice)), ...choices.filter(isCooling)];
  }
}

/** Of a lane behind an alias: what it calls by that name, else its first model, for vectors the first of vectors. */
function modelFor(models: readonly LaneModel[], alias: string): string | undefined {
  const isVectors = ({ as }: LaneModel): boolean => /embed/i.test(as);
  const fitting = models.find((model) => isVectors(model) === (alias === 'svc-embed'));
  return (models.find(({ name }) => name === alias) ?? fitting ?? models[0])?.as;
}

/** The lane's own name of a model that is named by either name. */
const asOf = (models: readonly LaneModel[], model: string): string =>
  models.find(({ name }) => name === model)?.as ?? model;

/** Lanes without a key now, and why. */
export const findLanesOff = (place: ProvidersPlace): { id: string; reason: string }[] =>
  readRegistry(place).lanes.flatMap(({ id, key: { fault: reason } }) => (reason === undefined ? [] : [{ id, reason }]));
