import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Template } from '@svc/sandboxd-api';
import type { Driver } from '../drivers/driver.ts';
import { guestUid, type Image, type Images, type Workspaces } from '../parts.ts';
import type { Instances, Live } from './instances.ts';

/** A warm sandbox that waits for its caller. */
export interface Warm {
  live: Live;
  image: Image;
}

export interface PoolParts {
  /** Directory of the golden snapshots. */
  dir: string;
  /** How many wait. */
  size: number;
  instances: Instances;
  workspaces: Workspaces;
  images: Images;
  driver: Driver;
  guest: { path: string; hash: string };
  log(message: string, details?: object): void;
}

/** Golden snapshots, one for each image, and the sandboxes restored from that of `svc-base` in advance. */
export interface Pool {
  /** Directory of the golden snapshot of an image; undefined when it was not made yet. */
  golden(image: Image): Promise<string | undefined>;
  /** Makes the golden snapshot of an image, unless it is there. */
  prepare(image: Image): Promise<void>;
  take(): Warm | undefined;
  /** Fills up in the background; the images and the snapshot it needs are made first when they can be. */
  refill(): void;
  waiting(): number;
  /** Ends those that wait. */
  close(): Promise<void>;
}

/** What the kernel of a golden snapshot has imported, so that the first cell need not (4 s in gVisor, measured). */
const warmModules = ['numpy', 'pandas', 'matplotlib.pyplot'];
const pooled: Template = 'svc-base';
/** Longer than any sandbox lives; a warm one is ended with sandboxd, and by the next one's recovery. */
const waitsMs = 30 * 86_400_000;

export function createPool(parts: PoolParts): Pool {
  const { instances, workspaces, driver } = parts;
  const waiting: Warm[] = [];
  let filling: Promise<void> | undefined;
  let isClosed = false;
  let making: Promise<void> | undefined;

  const keyOf = async (image: Image): Promise<string> =>
    createHash('sha256')
      .update(JSON.stringify([image.template, image.digest, parts.guest.hash, await driver.version()]))
      .digest('hex')
      .slice(0, 32);

  async function golden(image: Image): Promise<string | undefined> {
    await mkdir(parts.dir, { recursive: true, mode: 0o700 });
    const key = await keyOf(image);
    return (await readdir(parts.dir)).includes(key) ? join(parts.dir, key) : undefined;
  }

  async function startOf(image: Image, snapshot?: string): Promise<Live> {
    const id = randomUUID();
    await workspaces.create(id, guestUid);
    const start = { id, backend: 'v2', rootfs: image.rootfs, guest: parts.guest.path, uid: guestUid } as const;
    const expiresAt = Date.now() + waitsMs;
    try {
      return await instances.start({ ...start, expiresAt, egress: { mode: 'none' }, ...(snapshot && { snapshot }) });
    } catch (error) {
      await workspaces.remove(id);
      throw error;
    }
  }

  async function discard({ instance, ...live }: Live): Promise<void> {
    await instances.end(instance.id, 'v2', { instance, ...live });
    await workspaces.remove(instance.id);
  }

  async function make(image: Image): Promise<void> {
    if (await golden(image)) return;
    const live = await startOf(image);
    const target = join(parts.dir, await keyOf(image));
    const fresh = `${target}.new`;
    try {
      await live.client.ask({ kind: 'warm', modules: warmModules });
      await live.client.ask({ kind: 'freeze' });
      await driver.checkpoint(live.instance, fresh, false);
      await rename(fresh, target);
    } finally {
      await discard(live);
      await rm(fresh, { recursive: true, force: true });
    }
  }

  async function fill(): Promise<void> {
    const image = parts.images.get(pooled);
    if (!image) return;
    await pool.prepare(image);
    while (!isClosed && waiting.length < parts.size) {
      const live = await startOf(image, await golden(image));
      if (isClosed) return await discard(live);
      const warm = { live, image };
      waiting.push(warm);
      void live.client.closed.then(async () => {
        const at = waiting.indexOf(warm);
        if (at < 0 || isClosed) return;
        waiting.splice(at, 1);
        await discard(live);
        pool.refill();
      });
    }
  }

  const pool: Pool = {
    golden,
    prepare: (image) => (making = (making ?? Promise.resolve()).catch(() => {}).then(() => make(image))),
    take: () => waiting.shift(),
    refill() {
      if (isClosed || filling || parts.size === 0) return;
      filling = fill()
        .catch((error: unknown) => parts.log('warm pool', { err: error }))
        .finally(() => {
          filling = undefined;
        });
    },
    waiting: () => waiting.length,
    async close() {
      isClosed = true;
      await filling;
      await Promise.allSettled(waiting.splice(0).map(({ live }) => discard(live)));
    },
  };
  return pool;
}
