import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
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

/** Options of an instance's start; its workspace exists. */
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

interface InstanceParts {
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

/**
 * How long the first word of an agent may take: a cold start is 0.3 to 0.6 s when nothing else runs, and that of a
 * desktop, which is waited for, 4 to 8 s (measured).
 */
const readyMs = 60_000;
const stopMs = 5_000;

export function createInstances(parts: InstanceParts): Instances {
  const end: Instances['end'] = (id, backend, live) => endOf(parts, id, backend, live);
  return {
    end,
    async start(start) {
      try {
        return await launch(parts, start);
      } catch (error) {
        const log = await readFile(join(parts.dir, start.id, 'log'), 'utf8').catch(() => '');
        await end(start.id, start.backend);
        throw new Error(`sandbox did not start: ${log.trim().slice(-1000)}`, { cause: error });
      }
    },
    async adopt(record) {
      let client: ShimClient | undefined;
      try {
        client = await connectShim(join(parts.dir, record.instance, 'shim.sock'));
        const group = await parts.groups.open(record.instance, hardLimits(parts.limits, record.backend));
        // Its shim lives: an agent that is slow, or stands still for a snapshot, is waited for. A frozen one is silent.
        if (record.frozenAt === undefined) await inTime(client.ask({ kind: 'ping' }), readyMs);
        const { instance: id, guest, uid, image } = record;
        return { instance: instanceOf(parts, { id, guest, uid, rootfs: image.rootfs }, group), group, client };
      } catch {
        client?.close();
        return undefined;
      }
    },
    async ended(id) {
      try {
        return JSON.parse(await readFile(join(parts.dir, id, 'ended.json'), 'utf8')) as ShimEnd;
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

function instanceOf(
  parts: InstanceParts,
  { id, rootfs, guest, uid }: Pick<Start, 'id' | 'rootfs' | 'guest' | 'uid'>,
  group: ControlGroup,
): Instance {
  const workspace = parts.workspaces.path(id);
  const local = parts.workspaces.local(id);
  const { limits } = parts;
  const places = { workspace, ...(local !== undefined && { local }) };
  return { id, dir: join(parts.dir, id), rootfs, guest, uid, ...places, limits, enter: group.enter };
}

async function launch(parts: InstanceParts, start: Start): Promise<Live> {
  const limits = hardLimits(parts.limits, start.backend);
  // Its start may take every core: held to one, the runtime's processes wait for the next 100 ms again and again.
  const group = await parts.groups.open(start.id, { ...limits, cpus: Math.max(limits.cpus, availableParallelism()) });
  const instance = instanceOf(parts, start, group);
  await mkdir(instance.dir, { recursive: true, mode: 0o700 });
  const driver = parts.drivers[start.backend];
  const command = await (start.snapshot ? driver.restore(instance, start.snapshot) : driver.create(instance));
  const file = (name: string): string => join(instance.dir, name);
  const { expiresAt, egress } = start;
  const paths = { socket: file('shim.sock'), ended: file('ended.json'), log: file('log') };
  await parts.shims.start({ ...paths, expiresAt, egress, rules: parts.rules }, command);
  const client = await connectShim(paths.socket);
  await inTime(client.ask({ kind: start.snapshot ? 'thaw' : 'started' }), readyMs);
  await parts.groups.open(start.id, limits);
  return { instance, group, client };
}

async function endOf(parts: InstanceParts, id: string, backend: Backend, live?: Live): Promise<void> {
  const dir = join(parts.dir, id);
  const client = live?.client ?? (await connectShim(join(dir, 'shim.sock')).catch(() => undefined));
  if (client) {
    await inTime(client.tell({ stop: true }), stopMs).catch(() => {});
    await inTime(client.closed, stopMs).catch(() => client.close());
  }
  const group = live?.group ?? (await parts.groups.open(id, hardLimits(parts.limits, backend)));
  await group.remove();
  await parts.drivers[backend].destroy({ id, dir });
  await rm(dir, { recursive: true, force: true });
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
