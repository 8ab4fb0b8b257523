import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../base/clock.ts';
import { ApiError, notFound } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Blobs } from '../outside/blobs.ts';
import type { builtOnce } from './install.ts';

/** Releases whose clients are kept, of each kind: who has an older one in a lock file installs a newer one. */
const mostKept = 20;
/** For as long the list of a store is as it was. */
const listMs = 60_000;
/** The same for a name that it lacks: another gateway, of a newer release, may have led to it a moment ago. */
const missMs = 1_000;

/** A client as other machines install it. */
interface ServedClient {
  /** Of its folder in the store. */
  readonly kind: string;
  /** Addresses without a hash, which lead to that of the bytes of today. */
  readonly from: readonly string[];
  /** The name of these bytes, which never has others; `hash`: 12 hexadecimal digits. */
  readonly nameOf: (hash: string) => string;
  /** Of every such name. */
  readonly names: RegExp;
  readonly type: string;
  readonly built: ReturnType<typeof builtOnce>;
}

interface Parts {
  blobs: Blobs;
  clock: Clock;
  log: Log;
}
interface Named {
  name: string;
  bytes: Buffer;
  sha256: string;
}

/**
 * Serves the clients under names that never have other bytes (`sdk-<version>-<hash>.tgz`), those of releases before too, and leads to
 * them from the addresses without a hash: a lock file that names what it was led to stays right over upgrades.
 */
export function mountClients(http: FastifyInstance, parts: Parts, clients: readonly ServedClient[]): void {
  const all = clients.map((client) => ({ client, shelf: new Shelf(parts, client) }));
  for (const { client, shelf } of all)
    for (const path of client.from) {
      const to = (suffix: string) => async (_: unknown, reply: { header: Header; redirect: Redirect }) =>
        reply.header('cache-control', 'no-store').redirect(`/install/${(await shelf.current()).name}${suffix}`);
      http.route({ method: ['GET', 'HEAD'], url: path, handler: to('') });
      http.route({ method: ['GET', 'HEAD'], url: `${path}.sha256`, handler: to('.sha256') });
    }
  http.route({
    method: ['GET', 'HEAD'],
    url: '/install/:name',
    async handler(request, reply) {
      const asked = (request.params as { name: string }).name;
      const name = asked.replace(/\.sha256$/, '');
      const found = await all.find(({ client }) => client.names.test(name))?.shelf.find(name);
      if (!found) throw notFound('file');
      const isHash = asked !== name;
      const tag = `"${found.sha256.slice(0, 32)}"`;
      reply.headers({
        etag: tag,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
      if (request.headers['if-none-match']?.split(/, */).includes(tag)) return reply.code(304).send();
      if (isHash) return reply.type('text/plain; charset=utf-8').send(`${found.sha256}  ${name}\n`);
      return reply.type(found.type).send(found.bytes);
    },
  });
}

type Header = (name: string, value: string) => { redirect: Redirect };
type Redirect = (to: string) => unknown;

/** The packages of one client, of this release and those before, in the store of files that all gateways share. */
class Shelf {
  readonly #parts: Parts;
  readonly #folder: string;
  readonly #client: ServedClient;
  #current: Promise<Named> | undefined;
  #listed: { at: number; names: Promise<string[]> } | undefined;

  constructor(parts: Parts, client: ServedClient) {
    this.#parts = parts;
    this.#folder = `clients/${client.kind}/`;
    this.#client = client;
  }

  /** That of this release, kept from the first time that somebody asks for it. */
  current(): Promise<Named> {
    return (this.#current ??= this.#build().catch((error: unknown) => {
      this.#current = undefined;
      throw error;
    }));
  }

  /** Throws 503 while the store, where those of other releases are, does not answer. */
  async find(name: string): Promise<(Named & { type: string }) | undefined> {
    const { type } = this.#client;
    const [current] = await Promise.allSettled([this.current()]);
    if (current.status === 'fulfilled' && current.value.name === name) return { ...current.value, type };
    const bytes = await this.#read(name).catch((err: unknown) => {
      this.#parts.log.warn({ err, name }, 'a client of another release was not read');
      const headers = { 'retry-after': '5' };
      throw new ApiError('unavailable', 'the store of this platform does not answer; try again shortly', { headers });
    });
    if (bytes) return { name, bytes, sha256: createHash('sha256').update(bytes).digest('hex'), type };
    if (current.status === 'rejected') throw current.reason;
    return undefined;
  }

  async #read(name: string): Promise<Buffer | undefined> {
    const isIt = (one: string): boolean => one.endsWith(`_${name}`);
    const kept = (await this.#list(listMs)).find(isIt) ?? (await this.#list(missMs)).find(isIt);
    const found = kept === undefined ? undefined : await this.#parts.blobs.get(kept);
    return found && buffer(found.body);
  }

  /** Names in the store as of `ms` ago at most: who asks needs no key, and must not cost a request to the store each time. */
  #list(ms: number): Promise<string[]> {
    const { blobs, clock } = this.#parts;
    const now = clock.monotonic();
    if (this.#listed === undefined || now - this.#listed.at >= ms)
      this.#listed = { at: now, names: blobs.list(this.#folder) };
    return this.#listed.names;
  }

  async #build(): Promise<Named> {
    const { bytes, sha256 } = await this.#client.built();
    const name = this.#client.nameOf(sha256.slice(0, 12));
    // A store that takes nothing keeps nobody from this release.
    await this.#keep(name, bytes).catch((err: unknown) => this.#parts.log.warn({ err, name }, 'a client was not kept'));
    return { name, bytes, sha256 };
  }

  async #keep(name: string, bytes: Buffer): Promise<void> {
    const { blobs, clock } = this.#parts;
    const kept = await blobs.list(this.#folder);
    if (kept.some((one) => one.endsWith(`_${name}`))) return;
    const at = new Date(clock.now()).toISOString().replaceAll(':', '');
    await blobs.put(`${this.#folder}${at}_${name}`, bytes);
    // Their names begin with the time.
    for (const old of kept.slice(0, Math.max(0, kept.length + 1 - mostKept))) await blobs.delete(old);
  }
}
