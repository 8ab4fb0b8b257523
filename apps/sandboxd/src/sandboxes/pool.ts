import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Template, templateNames, templates } from '@svc/contract';
import type { Driver } from '../drivers/driver.ts';
import { guestUid, type Image, type Images, type Limits, type Workspaces } from '../parts.ts';
import type { Instances, Live } from './instances.ts';
import { needRoom } from './room.ts';

/** A warm sandbox that waits for its caller. */
interface Warm {
  live: Live;
  image: Image;
}

interface PoolParts {
  /** Directory of the golden snapshots. */
  dir: string;
  /** How many wait. */
  size: number;
  instances: Instances;
  workspaces: Workspaces;
  images: Images;
  driver: Driver;
  limits: Limits;
  guest: { path: string; hash: string };
  /** Settles when nobody waits for this machine: filling up comes last. */
  idle(): Promise<void>;
  log(message: string, details?: object): void;
}

/** Golden snapshots, one for each image, and the sandboxes restored from that of `svc-base` in advance. */
export interface Pool {
  /** Directory of the golden snapshot of an image; undefined when it was not made yet. */
  golden(image: Image): Promise<string | undefined>;
  /** Makes the golden snapshot of an image, unless it is there. */
  prepare(image: Image): Promise<void>;
  /** A warm sandbox of the image that is current. */
  take(): Warm | undefined;
  /** Fills up in the background; the images and the snapshot it needs are made first when they can be. */
  refill(): void;
  waiting(): number;
  /** Removes the golden snapshots that nothing will start from: of other images, agents, runtimes, and half-made ones. */
  sweep(): Promise<void>;
  /** Ends those that wait. */
  close(): Promise<void>;
}

/** Modules that a golden snapshot's kernel has imported, so that the first cell need not (4 s in gVisor, measured). */
const warmModules = ['numpy', 'pandas', 'matplotlib.pyplot'];
/** Commands run once before a template's golden snapshot: the first conversion takes two to three times as long as the next. */
const firstCommands: Partial<Record<Template, string>> = {
  'office-acte': `cd /tmp
set -e
python3 -c 'import docx; d = docx.Document(); d.add_paragraph("x"); d.save("first.docx")'
soffice --headless --convert-to pdf --outdir /tmp first.docx
rm -f first.docx first.pdf`,
};
const firstCommandMs = 180_000;
/** Whether something runs before the golden snapshot of a template that a cold sandbox would make its caller wait for. */
export const isWarmed = (template: Template): boolean => template in firstCommands;
/** The template whose sandboxes wait restored. */
export const pooled = templateNames.find((name) => templates[name].warm) as Template;
/** Longer than any sandbox lives; a warm one is ended with sandboxd, and by the next one's recovery. */
const waitsMs = 30 * 86_400_000;

interface PoolState {
  isClosed: boolean;
  filling?: Promise<void>;
  /** Golden snapshots are made one after the other. */
  making: Promise<void>;
  /** The sandbox from which the snapshot under way is made. */
  model?: Live;
}

const runs = (driver: Driver): Promise<boolean> =>
  driver.check().then(
    () => true,
    () => false,
  );

export function createPool(parts: PoolParts): Pool {
  const waiting: Warm[] = [];
  const state: PoolState = {
    isClosed: false,
    making: Promise.resolve(),
  };

  async function fill(): Promise<void> {
    const image = parts.images.get(pooled);
    // Where this backend does not run, v1 alone does: its sandboxes never wait.
    if (!image || !(await runs(parts.driver))) return;
    await pool.prepare(image);
    while (!state.isClosed && waiting.length < parts.size) {
      await parts.idle();
      const live = await startOf(parts, image, await goldenOf(parts, image));
      if (state.isClosed) return await discard(parts, live);
      // Even one in which nothing runs takes 4 % of a processor: the runtime looks for work a thousand times a second.
      await live.group.freeze(true);
      waiting.push({ live, image });
      live.client.closed.then(() => gone(live)).catch((error: unknown) => parts.log('warm pool', { err: error }));
    }
  }

  /** One that waited ended by itself. */
  async function gone(live: Live): Promise<void> {
    const at = waiting.findIndex((warm) => warm.live === live);
    if (at < 0 || state.isClosed) return;
    waiting.splice(at, 1);
    await discard(parts, live);
    pool.refill();
  }

  /** Runs work on the golden snapshots in turn: one that is being made looks half-made. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    state.making = state.making.catch(() => {}).then(work);
    return state.making;
  };

  const pool: Pool = {
    golden: (image) => goldenOf(parts, image),
    prepare: (image) => inTurn(() => make(parts, image, state)),
    take() {
      const digest = parts.images.get(pooled)?.digest;
      for (;;) {
        const warm = waiting.shift();
        if (warm === undefined || warm.image.digest === digest) return warm;
        void discard(parts, warm.live).catch(() => {});
      }
    },
    refill() {
      if (state.isClosed || state.filling || parts.size === 0) return;
      state.filling = fill()
        .catch((error: unknown) => parts.log('warm pool', { err: error }))
        .finally(() => {
          delete state.filling;
        });
    },
    waiting: () => waiting.length,
    sweep: () => inTurn(() => sweep(parts)),
    async close() {
      state.isClosed = true;
      await state.model?.client.tell({ stop: true }).catch(() => {});
      await Promise.allSettled([state.filling, state.making]);
      await Promise.allSettled(waiting.splice(0).map(({ live }) => discard(parts, live)));
    },
  };
  return pool;
}

async function goldenOf(parts: PoolParts, image: Image): Promise<string | undefined> {
  const { dir } = parts;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const key = await keyOf(parts, image);
  return (await readdir(dir)).includes(key) ? join(dir, key) : undefined;
}

async function sweep(parts: PoolParts): Promise<void> {
  const current = new Set<string | undefined>();
  for (const { template } of parts.images.status()) {
    const image = parts.images.get(template);
    if (image) current.add(await goldenOf(parts, image).catch(() => undefined));
  }
  for (const name of await readdir(parts.dir).catch(() => [])) {
    const path = join(parts.dir, name);
    if (!current.has(path)) await rm(path, { recursive: true, force: true });
  }
}

/** A snapshot fits what it was made of, and nothing else. */
async function keyOf({ guest, driver, limits }: PoolParts, image: Image): Promise<string> {
  // The agent in it was started with its limits.
  const parts = [image.digest, guest.hash, await driver.version(), limits, firstCommands[image.template]];
  const made = createHash('sha256').update(JSON.stringify(parts));
  return `${image.template}-${made.digest('hex').slice(0, 32)}`;
}

async function startOf(parts: PoolParts, image: Image, snapshot?: string): Promise<Live> {
  const id = randomUUID();
  await parts.workspaces.create(id, guestUid);
  const start = { id, backend: 'v2', rootfs: image.rootfs, guest: parts.guest.path, uid: guestUid } as const;
  const expiresAt = Date.now() + waitsMs;
  try {
    return await parts.instances.start({
      ...start,
      expiresAt,
      egress: { mode: 'none' },
      ...(snapshot && { snapshot }),
    });
  } catch (error) {
    await parts.workspaces.remove(id);
    throw error;
  }
}

async function discard(parts: PoolParts, live: Live): Promise<void> {
  await parts.instances.end(live.instance.id, 'v2', live);
  await parts.workspaces.remove(live.instance.id);
}

/** A snapshot without it is better than none: what failed is told. */
async function runFirst(parts: PoolParts, live: Live, { template }: Image): Promise<void> {
  const shell = firstCommands[template];
  if (shell === undefined) return;
  const { exit_code } = await live.client.ask({ kind: 'exec', shell, env: {}, timeout_ms: firstCommandMs });
  if (exit_code !== 0) parts.log('first command of a template', { template, exit_code });
}

async function make(parts: PoolParts, image: Image, state: PoolState): Promise<void> {
  if (state.isClosed || (await goldenOf(parts, image))) return;
  await needRoom(parts.dir);
  const live = await startOf(parts, image);
  if (state.isClosed) return await discard(parts, live);
  state.model = live;
  const target = join(parts.dir, await keyOf(parts, image));
  const fresh = `${target}.new`;
  try {
    await runFirst(parts, live, image);
    await live.client.ask({ kind: 'warm', modules: warmModules });
    await live.client.ask({ kind: 'freeze' });
    await parts.driver.checkpoint(live.instance, fresh, false);
    await rename(fresh, target);
    // Those of older images serve nobody any more.
    for (const name of await readdir(parts.dir)) {
      const older = name.startsWith(`${image.template}-`) && join(parts.dir, name) !== target;
      if (older) await rm(join(parts.dir, name), { recursive: true, force: true });
    }
  } finally {
    delete state.model;
    await discard(parts, live);
    await rm(fresh, { recursive: true, force: true });
  }
}
