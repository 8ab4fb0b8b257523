import { ConfigError } from '../../config.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { followProviders, type ProvidersPlace, providersPath, readProvidersText } from '../../kernel/providers.ts';
import { type Lane, type LaneModel, parseRegistry, type Registry } from './inference.providers.ts';

/** A lane, and the name that it wants for the model at hand. */
export interface Choice {
  lane: Lane;
  /** What the lane is asked for. */
  model: string;
}

/** Model aliases that are always there (document 1, Health records). */
export const aliases = ['svc', 'svc-fast', 'svc-embed'];

const nothing: Registry = { lanes: [], aliases: new Map() };

/** Reads the registry of the providers file; throws `ConfigError` when it cannot be used. Without a file it is empty. */
export const readRegistry = (place: ProvidersPlace): Registry => registryOf(place, () => readProvidersText(place));

function registryOf(place: ProvidersPlace, read: () => string | undefined): Registry {
  try {
    const text = read();
    return text === undefined ? nothing : parseRegistry(text);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(`SVC_PROVIDERS: ${providersPath(place)}: ${code ?? message}`);
  }
}

/** The lanes of this process: read from the file, again when it changes, and which of them are left alone for now. */
export class Lanes {
  readonly #kernel: Kernel;
  #registry = nothing;
  /** Until when a lane is left alone, by id; of `clock.monotonic()`. */
  readonly #cooling = new Map<string, number>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Follows the file; with one that cannot be used the lanes of before go on, and the log says why. */
  start(): () => void {
    return followProviders(this.#kernel, (text) => {
      this.#registry = registryOf(this.#kernel, () => text);
    });
  }

  get isEmpty(): boolean {
    return this.#registry.lanes.length === 0;
  }

  /** Every name that a client may ask for. */
  names(): string[] {
    const { lanes, aliases: own } = this.#registry;
    const models = lanes.flatMap((lane) => lane.models.map(({ name }) => name));
    return [...new Set([...own.keys(), ...models])];
  }

  /**
   * The lanes of a model in the order in which they are tried: of an alias as the file says, else by priority. Lanes that
   * are left alone come last: when nothing else is there, they are tried all the same.
   */
  of(name: string): Choice[] {
    const found = this.#named(name);
    const now = this.#kernel.clock.monotonic();
    const isCooling = ({ lane }: Choice): boolean => (this.#cooling.get(lane.id) ?? 0) > now;
    return [...found.filter((choice) => !isCooling(choice)), ...found.filter(isCooling)];
  }

  #named(name: string): Choice[] {
    const { lanes, aliases: own } = this.#registry;
    const ids = own.get(name);
    if (ids) {
      return ids.flatMap((id) => {
        const lane = lanes.find((one) => one.id === id);
        const model = lane && modelFor(lane.models, name);
        return lane && model !== undefined ? [{ lane, model }] : [];
      });
    }
    return lanes
      .flatMap((lane) => lane.models.filter((model) => model.name === name).map(({ as }) => ({ lane, model: as })))
      .sort((a, b) => a.lane.priority - b.lane.priority);
  }

  /** Leaves a lane alone for a while. */
  cool(lane: Lane, ms: number): void {
    this.#cooling.set(lane.id, this.#kernel.clock.monotonic() + ms);
  }

  /** It answers again. */
  warm(lane: Lane): void {
    this.#cooling.delete(lane.id);
  }
}

/** Of a lane behind an alias: what it calls by that name, else its first model, for vectors the first of vectors. */
function modelFor(models: readonly LaneModel[], alias: string): string | undefined {
  const isVectors = ({ as }: LaneModel): boolean => /embed/i.test(as);
  const fitting = models.find((model) => isVectors(model) === (alias === 'svc-embed'));
  return (models.find(({ name }) => name === alias) ?? fitting ?? models[0])?.as;
}
