import { randomBytes } from 'node:crypto';
import { badRequest } from '../../kernel/base/errors.ts';
import { readOrCreateFact } from '../../kernel/db/facts.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { followProviders } from '../../kernel/outside/providers.ts';
import { type MachineProviders, noProvider } from '../environments/index.ts';
import { type CloudEntry, parseClouds, usualRegion } from './clouds.file.ts';

const installationBytes = 8;

/** The providers of machines of this process, from the providers file, which is read again when it changes. */
export class Clouds implements MachineProviders {
  readonly #kernel: Kernel;
  #installation: Promise<string> | undefined;
  #entries: readonly CloudEntry[] = [];
  /** Until when a provider asked to be left alone, by its id; of `clock.monotonic()`. */
  readonly #resting = new Map<string, number>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Follows the file; with one that cannot be used those of before go on, and the log says why. Answers how to end it. */
  start(): () => void {
    const { clock, log } = this.#kernel;
    return followProviders(this.#kernel, (text) => {
      this.#entries = parseClouds(text, clock);
      for (const { id, key } of this.#entries)
        if (key.fault !== undefined) log.error({ provider: id, reason: key.fault }, 'a provider of machines is off');
    });
  }

  /** Id of this installation, a label of its machines. */
  installation(): Promise<string> {
    return (this.#installation ??= readOrCreateFact(this.#kernel.sql, 'installation', () =>
      randomBytes(installationBytes),
    )
      .then((fact) => fact.toString('hex'))
      .catch((error: unknown) => {
        this.#installation = undefined;
        throw error;
      }));
  }

  get all(): readonly CloudEntry[] {
    return this.#entries;
  }

  /** Where an environment's machine is; undefined when the file does not list it any more. */
  find(provider: CloudEntry['provider'], region: string): CloudEntry | undefined {
    return this.#entries.find((entry) => entry.provider === provider && entry.region === region);
  }

  /** Leaves a provider alone for so long, as it asked. */
  leaveAlone({ id }: CloudEntry, ms: number): void {
    this.#resting.set(id, this.#kernel.clock.monotonic() + ms);
  }

  /** For how many milliseconds a provider is left alone from now; 0: not at all. */
  restOf({ id }: CloudEntry): number {
    return Math.max(0, (this.#resting.get(id) ?? 0) - this.#kernel.clock.monotonic());
  }

  regionFor(provider: CloudEntry['provider'], wanted: string | undefined): string {
    const regions = this.#entries.filter((entry) => entry.provider === provider).map(({ region }) => region);
    const [first] = regions;
    if (first === undefined) throw noProvider();
    if (wanted === undefined) return regions.find((region) => region === usualRegion(provider)) ?? first;
    if (regions.includes(wanted)) return wanted;
    const message = `must be one of: ${regions.join(', ')}`;
    throw badRequest(`region: ${message}`, { region: [message] });
  }
}
