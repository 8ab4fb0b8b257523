import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Backend, Egress } from '@svc/sandboxd-api';
import type { Driver, Instance } from '../drivers/driver.ts';
import type { ControlGroup, ControlGroups, Limits, Workspaces } from '../parts.ts';
import type { EgressRules, ShimEnd } from '../shim/spec.ts';
import { connectShim, type ShimClient } from '../wire/client.ts';
import type { SandboxRecord } from './record.ts';
import type { Shims } from './shims.ts';

/** A running instance: its shim is connected. */
export interface Live {
  instance: Instance;
  group: ControlGroup;
  client: ShimClient;
}

/** What an instance is started with; its workspace is there. */
export interface Start {
  id: string;
  backend: Backend;
  rootfs: string;
  guest: string;
  uid: number;
  expiresAt: number;
  egress: Egress;
  /** Directory of a snapshot to start from. */
  snapshot?: string;
}

export interface InstanceParts {
  /** Directory with one directory an instance. */
  dir: string;
  drivers: Record<Backend, Driver>;
  groups: ControlGroups;
  workspaces: Workspaces;
  shims: Shims;
  limits: Limits;
  rules: EgressRules;
}

/** Starts, finds again and ends what runs, whichever backend holds it. */
export interface Instances {
  start(start: Start): Promise<Live>;
  /** Connects to an instance that another sandboxd started; undefined when its shim is gone. */
  adopt(record: SandboxRecord): Promise<Live | undefined>;
  /** Why its shim ended; undefined when the shim could not say. */
  ended(id: string): Promise<ShimEnd | undefined>;
  /** Ends it and removes all that it was, but for its workspace. Repeated: nothing. */
  end(id: string, backend: Backend, live?: Live): Promise<void>;
  list(): Promise<string[]>;
}

/** How long the first word of an agent may take; a cold start is 0.3 to 0.6 s when nothing else runs (measured). */
const readyMs = 30_000;
const adoptMs = 5_000;

export function createInstances(parts: InstanceParts): Instances {
  const { groups, workspaces, drivers } = parts;
  const dirOf = (id: string): string => join(parts.dir, id);

  async function instanceOf(start: Omit<Start, 'expiresAt' | 'egress'>, group: ControlGroup): Promise<Instance> {
    const { id, rootfs, guest, uid } = start;
    const workspace = workspaces.path(id);
    return { id, dir: dirOf(id), rootfs, guest, uid, workspace, limits: parts.limits, enter: group.enter };
  }

  async function launch(start: Start): Promise<Live> {
    const group = await groups.open(start.id, hardLimits(parts.limits, start.backend));
    const instance = await instanceOf(start, group);
    await mkdir(instance.dir, { recursive: true, mode: 0o700 });
    const driver = drivers[start.backend];
    const command = await (start.snapshot ? driver.restore(instance, start.snapshot) : driver.create(instance));
    const file = (name: string): string => join(instance.dir, name);
    const { expiresAt, egress } = start;
    const paths = { socket: file('shim.sock'), ended: file('ended.json'), log: file('log') };
    await parts.shims.start({ command, ...paths, expiresAt, egress, rules: parts.rules });
    const client = await connectShim(paths.socket);
    await inTime(client.ask({ kind: start.snapshot ? 'thaw' : 'ping' }), readyMs);
    return { instance, group, client };
  }

  async function end(id: string, backend: Backend, live?: Live): Promise<void> {
    const client = live?.client ?? (await connectShim(join(dirOf(id), 'shim.sock')).catch(() => undefined));
    if (client) {
      await inTime(client.tell({ stop: true }), adoptMs).catch(() => {});
      await inTime(client.closed, adoptMs).catch(() => client.close());
    }
    const group = live?.group ?? (await groups.open(id, hardLimits(parts.limits, backend)));
    await group.remove();
    await drivers[backend].destroy({ id, dir: dirOf(id) });
    await rm(dirOf(id), { recursive: true, force: true });
  }

  return {
    end,
    async start(start) {
      try {
        return await launch(start);
      } catch (error) {
        const log = await readFile(join(dirOf(start.id), 'log'), 'utf8').catch(() => '');
        await end(start.id, start.backend);
        throw new Error(`sandbox did not start: ${log.trim().slice(-1000)}`, { cause: error });
      }
    },
    async adopt(record) {
      try {
        const client = await connectShim(join(dirOf(record.instance), 'shim.sock'));
        await inTime(client.ask({ kind: 'ping' }), adoptMs);
        const group = await groups.open(record.instance, hardLimits(parts.limits, record.backend));
        const { instance: id, backend, guest, uid } = record;
        const instance = await instanceOf({ id, backend, guest, uid, rootfs: record.image.rootfs }, group);
        return { instance, group, client };
      } catch {
        return undefined;
      }
    },
    async ended(id) {
      try {
        return JSON.parse(await readFile(join(dirOf(id), 'ended.json'), 'utf8')) as ShimEnd;
      } catch {
        return undefined;
      }
    },
    async list() {
      await mkdir(parts.dir, { recursive: true, mode: 0o711 });
      return await readdir(parts.dir);
    },
  };
}

/**
 * The limit that ends the whole sandbox stands above the one that the agent keeps: gVisor's own kernel, and what is in
 * its memory file systems, count against it too.
 */
function hardLimits(limits: Limits, backend: Backend): Limits {
  return backend === 'v2' ? { ...limits, memoryBytes: limits.memoryBytes + 1_610_612_736 } : limits;
}

/** Settles as `work` does; rejects when it takes longer than `ms`. */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
