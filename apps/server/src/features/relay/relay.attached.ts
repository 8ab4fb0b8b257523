import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { type EnvironmentRole, mayStillReach, type Wanted } from '../environments/index.ts';
import { deleteAttached, insertAttached, writeStreams } from './relay.sql.ts';

/** A client that attaches. */
interface Attaching extends Wanted {
  clientId: string;
  deviceId: string | undefined;
  role: EnvironmentRole | null;
  kind: 'port' | 'terminal';
}

/** One of its connections. */
interface Open extends Wanted {
  end: (reason: string) => void;
}

/** A client of an environment, with its connections here. */
interface Client {
  row: Promise<string>;
  streams: number;
  told: number;
}

/** What is open ends within 10 s after its right (design: environments, The tunnel). */
const lookEveryMs = 3_000;

/** The clients that hang on this process, as the status tells of them. */
export class Attached {
  readonly #kernel: Kernel;
  readonly #open = new Set<Open>();
  readonly #clients = new Map<string, Client>();
  readonly #ending = new Set<Promise<void>>();
  #looking: Loop | undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  start(): void {
    this.#looking = startLoop(this.#kernel, { name: 'relay.clients', everyMs: lookEveryMs, work: () => this.#look() });
  }

  async stop(): Promise<void> {
    await this.#looking?.stop();
    await Promise.all(this.#ending);
  }

  /** Counts a connection until what it answers is called. `end` is called when the right to it is lost. */
  async add(one: Attaching, end: (reason: string) => void): Promise<() => void> {
    const { environmentId, accountId, clientId, kind, deviceId, role, port, isPublished = false } = one;
    const key = `${environmentId} ${accountId} ${clientId} ${kind}`;
    const known = this.#clients.get(key);
    const instanceId = this.#kernel.gateways.id;
    const client: Client = known ?? {
      row: insertAttached(this.#kernel.sql, { environmentId, accountId, instanceId, clientId, deviceId, role, kind }),
      streams: 0,
      told: 1,
    };
    this.#clients.set(key, client);
    client.streams += 1;
    const open: Open = { environmentId, accountId, port, isPublished, end };
    this.#open.add(open);
    const leave = (): void => {
      if (!this.#open.delete(open)) return;
      client.streams -= 1;
      if (client.streams > 0) return;
      this.#clients.delete(key);
      this.#forget(client);
    };
    try {
      await client.row;
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  #forget({ row }: Client): void {
    const { sql, log } = this.#kernel;
    const gone = row
      .then((id) => deleteAttached(sql, [id]))
      .catch((err: unknown) => log.warn({ err }, 'a client that left is still listed until this process ends'))
      .finally(() => this.#ending.delete(gone));
    this.#ending.add(gone);
  }

  async #look(): Promise<void> {
    const all = [...this.#open];
    if (all.length === 0) return;
    const { sql } = this.#kernel;
    const may = await mayStillReach(sql, all);
    for (const [at, one] of all.entries()) if (!may[at]) one.end('this is not yours to reach any more');
    const changed = [...this.#clients.values()].filter(({ streams, told }) => streams !== told);
    const rows = await Promise.all(changed.map(async (client) => ({ id: await client.row, streams: client.streams })));
    if (rows.length === 0) return;
    await writeStreams(sql, rows);
    for (const [at, client] of changed.entries()) client.told = rows[at]?.streams ?? client.told;
  }
}
