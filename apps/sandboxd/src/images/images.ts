import type { KeyObject } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Template, template, templateNames } from '@svc/contract';
import type { ImageStatus } from '@svc/sandboxd-api';
import { type Flock, tryFlock } from '@svc/process-lock';
import { NodeError } from '../error.ts';
import type { Image, Images } from '../parts.ts';
import { type ArchiveHeader, readArchive, readHeader, writeArchive } from './archive.ts';
import { type TarBuilder, unpackTar } from './build.ts';
import { exportKept, importKept } from './kept.ts';
import type { Progress } from './progress.ts';
import { pollMs, publish, readPublished } from './published.ts';
import { type Recipe, recipeHash, recipes } from './recipes.ts';
import { createImageStore, type ImageStore, type StoredImage } from './store.ts';

/** The images of a machine, with what an operator does to them. */
export interface ImageShelf extends Images {
  list(): StoredImage[];
  /** Removes the images that no recipe makes any more and that are not among `keep` (digests); answers the removed. */
  prune(keep: ReadonlySet<string>): Promise<string[]>;
  remove(digest: string): Promise<void>;
  /** The hash of a template's recipe in this version, on this processor. */
  recipe(name: Template): string;
  /** Writes the image of a template to a file, signed if there is a key. */
  exportTo(name: Template, file: string, signKey?: KeyObject): Promise<StoredImage>;
  /** Takes an image from a file that `exportTo` made; nothing stays when it is not what it says, or `tryOut` throws. */
  importFrom(file: string, tryOut?: TryOut): Promise<StoredImage>;
  /**
   * The same from a file that `fill` makes at the path it is given, and whose header it answers once it has judged it; nothing
   * stays when it throws either.
   */
  receive(name: Template, fill: Fill, tryOut?: TryOut): Promise<StoredImage>;
}

type TryOut = (rootfs: string) => Promise<void>;
/** `tell` says how far it is, 0 to 1, to whoever waits for the image. */
type Fill = (file: string, tell: (progress: number, step: string) => void) => Promise<ArchiveHeader>;

interface ImagesOptions {
  dir: string;
  builder: TarBuilder;
  /** Default: the product's. */
  recipes?: Readonly<Record<Template, Recipe>>;
  /** Clock, epoch milliseconds. */
  now?: () => number;
  /** Hears every change of a build that this process waits for. */
  onProgress?: (status: ImageStatus) => void;
}

/** A build under way here, or the last one's failure. */
interface Build {
  status: ImageStatus;
  listeners: Set<(status: ImageStatus) => void>;
  done: Promise<Image>;
  failedAt?: number;
}

/** After a failure, callers hear its reason for so long before one of them starts anew. */
const retryMs = 30_000;
/** Seconds that a build takes on two cores; for Retry-After. */
const typicalS = 180;

/** Opens the images below `dir`. Several processes may: one builds, the others wait for it and see how far it is. */
export function createImages(options: ImagesOptions): ImageShelf {
  const shelf = new Shelf(options);
  return {
    status: () => template.options.map((name) => shelf.status(name)),
    get: (name) => shelf.get(name),
    ready: (name, waitMs) => shelf.ready(name, waitMs),
    build: (name, onProgress) => shelf.build(name, onProgress),
    list: () => shelf.store.list(),
    prune: (keep) => shelf.prune(keep),
    remove: (digest) => shelf.store.remove(digest),
    recipe: (name) => shelf.recipe(name),
    exportTo: (name, file, signKey) => shelf.exportTo(name, file, signKey),
    importFrom: (file, tryOut) => shelf.importFrom(file, tryOut),
    receive: (name, fill, tryOut) => shelf.receive(name, fill, tryOut),
    exportKept: (digest, file) => exportKept(shelf.store, digest, file),
    importKept: (digest, file) => importKept(shelf.store, digest, file),
  };
}

class Shelf {
  readonly store: ImageStore;
  readonly #dir: string;
  readonly #builder: TarBuilder;
  readonly #recipes: Readonly<Record<Template, Recipe>>;
  readonly #hashes: Readonly<Record<Template, string>>;
  readonly #now: () => number;
  readonly #onProgress: ((status: ImageStatus) => void) | undefined;
  readonly #builds = new Map<Template, Build>();
  readonly #found = new Map<Template, StoredImage>();

  constructor(options: ImagesOptions) {
    this.#dir = options.dir;
    this.#builder = options.builder;
    this.#recipes = options.recipes ?? recipes;
    this.#now = options.now ?? Date.now;
    this.#onProgress = options.onProgress;
    this.store = createImageStore(options.dir);
    const hash = (name: Template) => {
      const { on } = this.#recipes[name];
      return recipeHash(this.#recipes[name], on && this.#recipes[on]);
    };
    this.#hashes = Object.fromEntries(templateNames.map((name) => [name, hash(name)])) as Record<Template, string>;
  }

  get(name: Template): StoredImage | undefined {
    const known = this.#found.get(name);
    if (known && statSync(known.rootfs, { throwIfNoEntry: false })) return known;
    const image = this.store
      .list()
      .filter((image) => image.template === name && image.recipe === this.#hashes[name])
      .sort((a, b) => b.built_at.localeCompare(a.built_at))[0];
    if (image) this.#found.set(name, image);
    else this.#found.delete(name);
    return image;
  }

  status(name: Template): ImageStatus {
    const build = this.#builds.get(name);
    if (build?.status.state === 'building') return build.status;
    const image = this.get(name);
    if (image) {
      const { digest, bytes } = image;
      return { template: name, state: 'ready', progress: 1, step: 'ready', digest, bytes };
    }
    const elsewhere = readPublished(this.#path(name, 'progress'), this.#now());
    if (elsewhere) return { template: name, state: 'building', ...elsewhere };
    return build?.status ?? { template: name, state: 'absent', progress: 0, step: 'not built yet' };
  }

  async ready(name: Template, waitMs: number): Promise<Image> {
    const image = this.get(name);
    if (image) return image;
    const failed = this.#builds.get(name);
    if (failed?.failedAt !== undefined && this.#now() - failed.failedAt < retryMs) {
      throw new NodeError('sandbox_capacity', `image ${name} cannot be built: ${failed.status.step}`, {
        retryAfterS: Math.ceil(retryMs / 1000),
      });
    }
    const build = this.build(name);
    const late = new AbortController();
    try {
      const built = await Promise.race([build, sleep(waitMs, undefined, { signal: late.signal, ref: false })]);
      if (built) return built;
    } finally {
      late.abort();
      build.catch(() => {});
    }
    const { progress, step } = this.status(name);
    const percent = Math.floor(progress * 100);
    throw new NodeError('sandbox_capacity', `image ${name} is being built: ${percent} % (${step})`, {
      retryAfterS: Math.max(5, Math.ceil((1 - progress) * typicalS)),
    });
  }

  build(name: Template, onProgress?: (status: ImageStatus) => void): Promise<Image> {
    const image = this.get(name);
    if (image) return Promise.resolve(image);
    let build = this.#builds.get(name);
    if (build?.status.state !== 'building') {
      const status: ImageStatus = { template: name, state: 'building', progress: 0, step: 'starting' };
      const done = Promise.withResolvers<Image>();
      const started: Build = { status, listeners: new Set(), done: done.promise };
      this.#builds.set(name, started);
      done.resolve(this.#obtain(name, started));
      build = started;
    }
    if (onProgress) {
      build.listeners.add(onProgress);
      onProgress(build.status);
    }
    return build.done;
  }

  async prune(keep: ReadonlySet<string>): Promise<string[]> {
    const current = new Set(template.options.flatMap((name) => this.get(name)?.digest ?? []));
    const spare = this.store.list().filter(({ digest }) => !current.has(digest) && !keep.has(digest));
    for (const { digest } of spare) await this.store.remove(digest);
    for (const name of template.options) {
      const lock = await tryFlock(this.#path(name, 'lock')).catch(() => undefined);
      if (!lock) continue;
      await this.store.sweep(name);
      await lock.release();
    }
    return spare.map(({ digest }) => digest);
  }

  recipe(name: Template): string {
    return this.#hashes[name];
  }

  async exportTo(name: Template, file: string, signKey?: KeyObject): Promise<StoredImage> {
    const image = this.get(name);
    if (!image) throw new Error(`there is no image ${name} of this version; build it with svc images build ${name}`);
    await writeArchive(image, file, signKey);
    return image;
  }

  async importFrom(file: string, tryOut?: TryOut): Promise<StoredImage> {
    const header = await readHeader(file);
    if (header.recipe !== this.#hashes[header.template]) {
      throw new Error(`${file} has an image ${header.template} of another version; build and export it with this one`);
    }
    return await this.#take(header.template, async () => ({ file, header }), tryOut);
  }

  async receive(name: Template, fill: Fill, tryOut?: TryOut): Promise<StoredImage> {
    let latest: Progress = { progress: 0, step: 'fetching it' };
    const tell = (progress: number, step: string): void => {
      latest = { progress, step };
    };
    const into = async (place: string) => {
      const file = join(place, 'archive');
      return { file, header: await fill(file, tell) };
    };
    return await this.#take(name, into, tryOut, () => latest);
  }

  /**
   * Unpacks the archive that `obtain` answers, under the lock of its template; `place` is for what goes with a failure.
   * `latest` is how far it is, told to other processes meanwhile.
   */
  async #take(
    name: Template,
    obtain: (place: string) => Promise<{ file: string; header: ArchiveHeader }>,
    tryOut: TryOut | undefined,
    latest?: () => Progress,
  ): Promise<StoredImage> {
    await mkdir(this.#dir, { recursive: true, mode: 0o755 });
    const lock = await tryFlock(this.#path(name, 'lock'));
    if (!lock)
      throw new Error(`another process builds, fetches or imports the image ${name}; try again when it is done`);
    const silence = latest && publish(this.#path(name, 'progress'), latest);
    try {
      await this.store.sweep(name);
      const place = await this.store.begin(name);
      const { file, header } = await obtain(place);
      const unpacked = await readArchive(file, header, place);
      await this.store.clean(place);
      await tryOut?.(join(place, 'rootfs'));
      const { recipe, built_at } = header;
      return await this.store.commit(place, { template: name, ...unpacked, recipe, built_at });
    } catch (error) {
      throw new Error(explain(error, this.#dir), { cause: error });
    } finally {
      await silence?.();
      await this.store.sweep(name);
      await lock.release();
    }
  }

  /** Builds it under the lock of its template, or waits for the process that does. */
  async #obtain(name: Template, build: Build): Promise<Image> {
    const tell = (next: Partial<ImageStatus>) => {
      build.status = { ...build.status, ...next };
      for (const listener of build.listeners) listener(build.status);
      this.#onProgress?.(build.status);
    };
    try {
      await mkdir(this.#dir, { recursive: true, mode: 0o755 });
      const lock = await this.#locked(name, tell);
      try {
        const image = this.get(name) ?? (await this.#make(name, tell));
        const { digest, bytes } = image;
        tell({ state: 'ready', progress: 1, step: 'ready', digest, bytes });
        return image;
      } finally {
        await lock?.release();
      }
    } catch (error) {
      build.failedAt = this.#now();
      const step = explain(error, this.#dir);
      tell({ state: 'failed', step });
      throw new NodeError('sandbox_capacity', `image ${name} cannot be built: ${step}`, { cause: error });
    }
  }

  /** The template's lock; undefined when another process finished the image meanwhile. */
  async #locked(name: Template, tell: (next: Partial<ImageStatus>) => void): Promise<Flock | undefined> {
    for (;;) {
      const lock = await tryFlock(this.#path(name, 'lock'));
      if (lock) return lock;
      if (this.get(name)) return undefined;
      const elsewhere = readPublished(this.#path(name, 'progress'), this.#now());
      tell(elsewhere ?? { step: 'another process builds it' });
      await sleep(pollMs, undefined, { ref: false });
    }
  }

  async #make(name: Template, tell: (next: Partial<ImageStatus>) => void): Promise<StoredImage> {
    await this.store.sweep(name);
    const place = await this.store.begin(name);
    let latest: Progress = { progress: 0, step: 'starting' };
    const silence = publish(this.#path(name, 'progress'), () => latest);
    try {
      let unpacked = { digest: '', bytes: 0 };
      const take = async (tar: Parameters<typeof unpackTar>[0]) => {
        unpacked = await unpackTar(tar, join(place, 'rootfs'));
      };
      const hear = (progress: Progress) => {
        latest = progress;
        tell(progress);
      };
      const { on } = this.#recipes[name];
      // What is below it is another image: how far that is says nothing of this one.
      const below = on && (await this.build(on, ({ step }) => hear({ progress: 0, step: `${on}: ${step}` })));
      await this.#builder.build(this.#recipes[name], { work: place, on: below?.rootfs }, take, hear);
      // Files that only the builder needed are no part of the image.
      await this.store.clean(place);
      const built_at = new Date(this.#now()).toISOString();
      return await this.store.commit(place, { template: name, ...unpacked, recipe: this.#hashes[name], built_at });
    } finally {
      await silence();
      await this.store.sweep(name);
    }
  }

  #path(name: Template, kind: 'lock' | 'progress'): string {
    return join(this.#dir, `.${name}.${kind}`);
  }
}

/** One line that says what went wrong, and what to do where that is known. */
function explain(error: unknown, dir: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/No space left on device|ENOSPC|not enough free space|Wrote only \d+ of \d+ bytes/i.test(message))
    return `the disk of ${dir} is full`;
  return message.split('\n')[0] ?? '';
}
