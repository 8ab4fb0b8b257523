import type { Duplex } from 'node:stream';
import type { Backend } from '@svc/sandboxd-api';
import type { Driver } from '../drivers/driver.ts';
import { NodeError } from '../error.ts';
import type { Files, Images, Workspaces } from '../parts.ts';
import type { Registries } from '../registries.ts';
import type { Instances, Live } from './instances.ts';
import type { Pool } from './pool.ts';
import type { Records, SandboxRecord } from './record.ts';
import type { Shims } from './shims.ts';

/** One sandbox in this process. */
export interface Entry {
  record: SandboxRecord;
  live: Live | undefined;
  /** The command or cell that runs in it now, one at a time. */
  busy: string | undefined;
  /** When an upload changed its workspace last: of that its caller knows. */
  accountedAt?: number;
  /** Open connections to its ports, and its terminals. */
  ports: Set<Duplex>;
  /** How many terminals are open, or about to be. */
  terminals: number;
  /** The lifecycle steps that were begun, one after the other. */
  queue: Promise<unknown>;
}

/** Shared parts of every operation on sandboxes. */
export interface Context {
  /** Directory of the snapshots of paused sandboxes and of forks. */
  snapshots: string;
  /** Directory of what is written for a backup. */
  copies: string;
  /** Directory of what a restore left to be taken in. */
  arrivals: string;
  slots: number;
  entries: Map<string, Entry>;
  /** Ids that are being created or resumed, until their entry is as it will be: they take a slot, too. */
  creating: Map<string, Promise<unknown>>;
  instances: Instances;
  records: Records;
  pool: Pool;
  shims: Shims;
  drivers: Record<Backend, Driver>;
  workspaces: Workspaces;
  images: Images;
  files: Files;
  guest: { path: string; hash: string };
  /** Environment of user code by the preset of its way out. */
  presetEnv: Registries['env'];
  log(message: string, details?: object): void;
}

export function entryOf(context: Context, id: string): Entry {
  const entry = context.entries.get(id);
  if (!entry) throw new NodeError('no_sandbox', 'no such sandbox');
  return entry;
}

/** The running instance of a sandbox; throws `sandbox_not_running`. */
export function liveOf(entry: Entry): Live {
  if (!entry.live || entry.record.status !== 'running') {
    throw new NodeError('sandbox_not_running', `the sandbox is ${entry.record.status}`);
  }
  return entry.live;
}

/** Environment of a sandbox's user code, besides the common variables. */
export function environmentOf(context: Context, { record: { egress } }: Entry): Record<string, string> {
  return egress.mode === 'preset' ? context.presetEnv[egress.preset] : {};
}

/** Takes the sandbox for one command; answers how it is given back, which acts once. */
export function occupy(entry: Entry, what: string): () => void {
  if (entry.record.frozenAt !== undefined)
    throw new NodeError('fenced', 'this sandbox stands still: a platform that did not know it took the node over');
  if (entry.busy !== undefined)
    throw new NodeError('sandbox_busy', `another ${entry.busy} is running in the sandbox; wait until it ends`);
  entry.busy = what;
  let isOver = false;
  return () => {
    if (!isOver) entry.busy = undefined;
    isOver = true;
  };
}

/** Whether the workspace changed since then, uploads aside. */
export async function hasChanged(context: Context, entry: Entry, sinceMs: number): Promise<boolean> {
  const since = Math.max(sinceMs, entry.accountedAt ?? 0);
  return await context.files.hasChanged(context.workspaces.path(entry.record.instance), since);
}

/** Runs lifecycle steps of one sandbox one after the other. */
export function serially<T>(entry: Entry, work: () => Promise<T>): Promise<T> {
  const done = entry.queue.then(work, work);
  entry.queue = done.catch(() => {});
  return done;
}

/** How many sandboxes run, the warm ones that wait not among them. */
export function usedSlots(context: Context): number {
  const running = [...context.entries.values()].filter(({ live }) => live !== undefined).length;
  // One that runs already is about to leave `creating`.
  return running + [...context.creating.keys()].filter((id) => !context.entries.get(id)?.live).length;
}

const idleLookMs = 100;
const idleLooks = 50;

/** Settles when nothing runs that somebody waits for, or after some seconds: work of its own comes after theirs. */
export async function idle(context: Context): Promise<void> {
  for (let look = 0; look < idleLooks; look += 1) {
    const isBusy = context.creating.size > 0 || [...context.entries.values()].some(({ busy }) => busy !== undefined);
    if (!isBusy) return;
    await new Promise((resolve) => setTimeout(resolve, idleLookMs));
  }
}

/** Throws `sandbox_capacity` when `count` more cannot run. */
export function needSlots(context: Context, count: number): void {
  if (usedSlots(context) + count > context.slots) {
    throw new NodeError('sandbox_capacity', 'every slot of this node is taken', { retryAfterS: 5 });
  }
}

/** Enters a sandbox that runs: from now on its end is noticed. */
export function enter(context: Context, record: SandboxRecord, live: Live | undefined): Entry {
  const entry: Entry = { record, live, busy: undefined, ports: new Set(), terminals: 0, queue: Promise.resolve() };
  context.entries.set(record.id, entry);
  if (live) watch(context, entry, live);
  return entry;
}

/** When the shim ends unasked, the sandbox is stopped; only its files stay. */
export function watch(context: Context, entry: Entry, live: Live): void {
  void live.client.closed.then(async () => {
    if (entry.live !== live || entry.record.status !== 'running') return;
    await serially(entry, async () => {
      if (entry.live !== live || entry.record.status !== 'running') return;
      await stopped(context, entry, live);
    }).catch((error: unknown) => context.log('end of a sandbox', { err: error, id: entry.record.id }));
  });
}

/** Ends a sandbox that runs, for a reason of the node; its files stay until it is destroyed. */
export async function stop(context: Context, entry: Entry, reason: string): Promise<void> {
  await serially(entry, async () => {
    if (entry.live && entry.record.status === 'running') await stopped(context, entry, entry.live, reason);
  });
}

async function stopped(context: Context, entry: Entry, live: Live | undefined, why?: string): Promise<void> {
  const { id, instance, backend } = entry.record;
  const reason = why ?? (await reasonOf(context, instance, live));
  const record: SandboxRecord = { ...entry.record, status: 'stopped', reason };
  // It ends, whether the disk takes that or not: the next sandboxd finds it gone, too.
  await context.records.save(record).catch((error: unknown) => context.log('record not saved', { id, err: error }));
  entry.live = undefined;
  entry.record = record;
  await context.instances.end(instance, backend, live);
  if (reason === 'expired') await context.workspaces.remove(instance);
  context.log('sandbox stopped', { id, reason });
}

async function reasonOf(context: Context, instance: string, live: Live | undefined): Promise<string> {
  const ended = await context.instances.ended(instance);
  if (ended?.reason === 'expired') return 'expired';
  const kills = await live?.group.oomKills().catch(() => 0);
  return kills !== undefined && kills > 0 ? 'memory' : 'crashed';
}

/** Marks a sandbox stopped whose instance was not found again. */
export const lost = (context: Context, entry: Entry): Promise<void> => stopped(context, entry, undefined);
