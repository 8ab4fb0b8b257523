import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { linuxUsersOf, provisioned, usersHashes } from '../environments/index.ts';
import type { Daemons } from './relay.daemons.ts';
import type { Tunnel } from './relay.tunnel.ts';

/** A list that a daemon was told. */
interface Told {
  hash: string;
  /** On the monotonic clock. */
  at: number;
}

const everyMs = 10_000;
/** A machine whose users somebody changed by hand hears the same list again. */
const againMs = 600_000;

/** Tells daemons which members shall have Linux users: with their first report, and when members or keys change. */
export class LinuxUsers {
  readonly #kernel: Kernel;
  readonly #daemons: Daemons;
  readonly #told = new WeakMap<Tunnel, Told>();
  /** Those that are told now: a slow machine holds back no other one. */
  readonly #telling = new Map<Tunnel, Promise<void>>();
  #loop: Loop | undefined;

  constructor(kernel: Kernel, daemons: Daemons) {
    this.#kernel = kernel;
    this.#daemons = daemons;
  }

  start(): void {
    const loop = startLoop(this.#kernel, { name: 'relay.users', everyMs, work: () => this.#tell() });
    this.#loop = loop;
    this.#daemons.onUsers(() => loop.wake());
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
    await Promise.all(this.#telling.values());
  }

  async #tell(): Promise<void> {
    const { sql, clock, log } = this.#kernel;
    const all = this.#daemons.withUsers();
    if (all.length === 0) return;
    const hashes = await usersHashes(
      sql,
      all.map(({ environmentId }) => environmentId),
    );
    const now = clock.monotonic();
    for (const { environmentId, tunnel } of all) {
      const hash = hashes.get(environmentId) ?? '';
      const told = this.#told.get(tunnel);
      if (this.#telling.has(tunnel) || (told && told.hash === hash && now - told.at < againMs)) continue;
      const telling = this.#tellOne(environmentId, tunnel)
        .then(() => void this.#told.set(tunnel, { hash, at: now }))
        .catch((err: unknown) => log.warn({ err, environmentId }, 'a machine made no Linux users; it is asked again'))
        .finally(() => this.#telling.delete(tunnel));
      this.#telling.set(tunnel, telling);
    }
  }

  async #tellOne(environmentId: string, tunnel: Tunnel): Promise<void> {
    const users = await linuxUsersOf(this.#kernel.sql, environmentId);
    const there = new Set(await tunnel.provision(users));
    const made = users.filter(({ user_id: id }) => there.has(id));
    await provisioned(this.#kernel, environmentId, made);
  }
}
