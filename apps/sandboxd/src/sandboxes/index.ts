import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Backend, NodeStatus } from '@svc/sandboxd-api';
import { publishAgent } from '../drivers/agent.ts';
import { createBubblewrap } from '../drivers/bubblewrap.ts';
import type { Driver } from '../drivers/driver.ts';
import { createGvisor } from '../drivers/gvisor.ts';
import { NodeError } from '../error.ts';
import { fetchAdvice } from '../images/advice.ts';
import { openIncarnation } from '../incarnation.ts';
import type { ControlGroups, Files, Images, Limits, Runtime, Scanner, Workspaces } from '../parts.ts';
import { sweepPublished } from '../published.ts';
import type { Registries } from '../registries.ts';
import { openCage } from '../shim/cage.ts';
import { publishShim } from '../shim/publish.ts';
import type { EgressRules } from '../shim/spec.ts';
import { type Context, idle, usedSlots } from './context.ts';
import { watchGrowth } from './growth.ts';
import { createInstances } from './instances.ts';
import { createPool, pooled } from './pool.ts';
import { takeArrivals } from './arrivals.ts';
import { sweepCopies } from './copies.ts';
import { createRecords } from './record.ts';
import { recover } from './recovery.ts';
import { createShims, type Shims } from './shims.ts';
import { openTurns, type Turns } from '../turns.ts';

/** The parts of a node; its starter chooses them. */
export interface NodeParts {
  images: Images;
  workspaces: Workspaces;
  groups: ControlGroups;
  files: Files;
  scanner: Scanner;
  runtime: Runtime;
  log(message: string, details?: object): void;
}

export interface NodeOptions {
  /** State of the node. */
  dir: string;
  slots: number;
  /** Warm sandboxes that wait. */
  warm: number;
  /** Shims in store. */
  spares: number;
  limits: Limits;
  rules: EgressRules;
  /** Whether the usual image is built before somebody asks for it. */
  build: boolean;
  /** Environment of user code by the preset of its way out. */
  presetEnv: Registries['env'];
}

/** Longer than any shim: it waits warm for 30 days at most, then holds its sandbox for 7. */
const longestLifeMs = 60 * 86_400_000;

/** A node with its sandboxes found again. */
export interface SandboxNode {
  context: Context;
  parts: NodeParts;
  turns: Turns;
  status(): Promise<NodeStatus>;
  /** Leaves every sandbox running, for the next sandboxd; the warm ones end. */
  close(): Promise<void>;
}

export async function openNode(parts: NodeParts, options: NodeOptions): Promise<SandboxNode> {
  const { dir, limits, rules } = options;
  const place = (name: string): string => join(dir, name);
  // Search only for others: a v1 sandbox runs as a user of its own and must reach its files.
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const self = await identify(dir, parts);
  const guest = await publishAgent(place('guest'));
  const { shims, shim } = await cagedShims(parts, options);
  const drivers: Record<Backend, Driver> = {
    v1: createBubblewrap(),
    v2: createGvisor(parts.runtime, place('runsc')),
  };
  const { workspaces, images, files, groups } = parts;
  const log = parts.log.bind(parts);
  const instances = createInstances({ dir: place('live'), drivers, groups, workspaces, shims, limits, rules });
  const shared = { instances, workspaces, images, guest, log };
  const golden = { dir: place('golden'), size: options.warm, driver: drivers.v2, limits };
  const pool = createPool({ ...shared, ...golden, idle: () => idle(context) });
  const context: Context = {
    ...shared,
    snapshots: place('snapshots'),
    copies: place('copies'),
    arrivals: place('restored'),
    slots: options.slots,
    entries: new Map(),
    creating: new Map(),
    records: createRecords(place('sandboxes'), log),
    pool,
    shims,
    drivers,
    files,
    presetEnv: options.presetEnv,
  };
  await takeUp(context, groups);
  const guests = [...context.entries.values()].map(({ record }) => record.guest);
  await sweepPublished(place('guest'), new Set([guest.path, ...guests]), 0);
  // A shim may load its modules late, for as long as it lives.
  await sweepPublished(place('shim'), new Set([dirname(shim)]), longestLifeMs);
  const unwatch = workspaces.limited ? undefined : watchGrowth(context);
  shims.refill();
  beginWarmUp(context, options.build);
  return {
    context,
    parts,
    turns: await openTurns(dir, log),
    async status() {
      const [v1, v2] = await Promise.all([able(drivers.v1), able(drivers.v2)]);
      const slots = { total: options.slots, used: usedSlots(context) };
      return { ...self, backends: { v1, v2 }, images: images.status(), slots };
    },
    async close() {
      unwatch?.();
      shims.close();
      await pool.close();
      for (const entry of context.entries.values()) {
        const { live } = entry;
        // Its end is not ours to notice any more.
        entry.live = undefined;
        live?.client.close();
      }
    },
  };
}

/** Which node this is, and which process of it. */
async function identify(dir: string, parts: NodeParts) {
  const id = await nodeId(join(dir, 'node-id'), join(dir, 'restored', 'sandboxes', 'node-id'));
  return { id, ...(await openIncarnation(dir, parts.log.bind(parts))) };
}

/** Finds again what there was, and takes in what a restore brought. */
async function takeUp(context: Context, groups: ControlGroups): Promise<void> {
  await sweepCopies(context);
  await takeArrivals(context);
  await recover(context, groups);
}

/** The store of shims, and the module that they run. */
async function cagedShims(parts: NodeParts, { dir, spares }: NodeOptions): Promise<{ shims: Shims; shim: string }> {
  const shim = await publishShim(join(dir, 'shim'));
  const live = join(dir, 'live');
  await mkdir(live, { recursive: true, mode: 0o711 });
  const cage = await openCage(dir, { shim, live });
  if (cage.missing !== undefined) parts.log('shims run without bubblewrap around them', { reason: cage.missing });
  return { shims: createShims(spares, { path: shim, dir, cage }), shim };
}

/** A refusal says all in its message: no stack is for who starts the platform. */
function beginWarmUp(context: Context, build: boolean): void {
  warmUp(context, build).catch((error: unknown) =>
    context.log('warming up', error instanceof NodeError ? { reason: error.message } : { err: error }),
  );
}

/** Prepares in the background for the first create: the runtime, the image, the warm sandboxes. */
async function warmUp(context: Context, build: boolean): Promise<void> {
  const { drivers, images, pool } = context;
  const v2 = await able(drivers.v2);
  if (v2.available) await pool.sweep();
  if (!images.get(pooled)) {
    if (!build || !(v2.available || (await able(drivers.v1)).available)) return;
    if (process.getuid?.() !== 0) return context.log(`no image ${pooled} yet: ${fetchAdvice(pooled)}`);
    await images.build(pooled);
  }
  if (v2.available) pool.refill();
}

async function able(driver: Driver): Promise<{ available: boolean; reason?: string }> {
  try {
    await driver.check();
    return { available: true };
  } catch (error) {
    return { available: false, reason: error instanceof NodeError ? error.message : String(error) };
  }
}

/** Its own, else that of the node whose sandboxes a restore brought, else a new one. */
async function nodeId(path: string, restored: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    const id = (await readFile(restored, 'utf8').catch(() => '')).trim() || randomUUID();
    await writeFile(path, `${id}\n`, { mode: 0o600 });
    return id;
  }
}
