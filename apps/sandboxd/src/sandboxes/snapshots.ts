import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Forked, Paused, Resumed } from '@svc/sandboxd-api';
import { NodeError } from '../error.ts';
import { hearAftermath } from './aftermath.ts';
import { type Context, type Entry, enter, entryOf, liveOf, needSlots, occupy, serially, watch } from './context.ts';
import { inTime, type Live } from './instances.ts';
import type { SandboxRecord } from './record.ts';
import { needRoom } from './room.ts';
import { look, needNoneDeleted, notSaved } from './saveable.ts';

const askMs = 10_000;

/**
 * Saves memory and processes, and ends the sandbox once all of it is on disk; until then it lives, and goes on when it
 * cannot be saved: `memory_not_saved` says why. `filesOnly` keeps the files alone.
 */
export async function pause(context: Context, id: string, filesOnly = false): Promise<Paused> {
  const entry = entryOf(context, id);
  return await serially(entry, async () => {
    const { record } = entry;
    needSnapshots(record);
    if (record.status === 'paused')
      return { memory: record.snapshot?.memory ?? false, snapshot_bytes: record.snapshot?.bytes ?? 0 };
    const live = liveOf(entry);
    const release = occupy(entry, 'pause');
    const target = join(context.snapshots, record.instance);
    try {
      await needRoom(context.snapshots, filesOnly ? 0 : (await live.group.memoryBytes()) || 0);
      if (!filesOnly) await look(live);
      const pausing: SandboxRecord = { ...record, status: 'pausing' };
      await context.records.save(pausing);
      entry.record = pausing;
      const counted = filesOf(context, record.instance);
      if (!filesOnly) await save(context, entry, live, target);
      return await settle(context, entry, live, !filesOnly, await counted);
    } catch (error) {
      if (entry.record.status === 'pausing') {
        await goOn(context, entry, record, live);
        await rm(target, { recursive: true, force: true });
      }
      throw error;
    } finally {
      release();
    }
  });
}

/** A sandbox whose pause came to nothing runs as before. */
async function goOn(context: Context, entry: Entry, record: SandboxRecord, live: Live): Promise<void> {
  await inTime(live.client.ask({ kind: 'unfreeze' }), askMs).catch(() => {});
  entry.record = record;
  // Its end went unnoticed meanwhile.
  watch(context, entry, live);
}

/**
 * Writes a whole snapshot and leaves the sandbox standing still: what ran on would write files that its memory does not
 * know of. Nothing crosses the agent's channels meanwhile: a torn frame would stay torn. Throws `memory_not_saved`.
 */
async function save(context: Context, entry: Entry, live: Live, target: string): Promise<void> {
  for (const stream of entry.ports) stream.destroy();
  try {
    const { deleted } = await inTime(live.client.ask({ kind: 'freeze' }), askMs);
    if (!deleted) throw notSaved('the sandbox did not say what is open in it');
    needNoneDeleted(deleted);
    await context.drivers[entry.record.backend].checkpoint(live.instance, target, true);
  } catch (error) {
    context.log('memory not saved', { id: entry.record.id, err: error });
    await rm(target, { recursive: true, force: true });
    throw error instanceof NodeError ? error : notSaved('the runtime failed', error);
  }
}

/** The rest of a pause, also of one that sandboxd did not live to finish; `files` is what the workspace takes. */
export async function settle(
  context: Context,
  entry: Entry,
  live: Live | undefined,
  isSaved: boolean,
  files?: number,
): Promise<Paused> {
  const { instance, backend } = entry.record;
  const images = isSaved ? await bytesOf(join(context.snapshots, instance)) : undefined;
  const memory = images !== undefined;
  const bytes = (images ?? 0) + (files ?? (await filesOf(context, instance)));
  const paused: SandboxRecord = { ...entry.record, status: 'paused', snapshot: { memory, bytes } };
  try {
    // First of all: once it is written down the sandbox may end.
    await context.records.save(paused);
  } catch (error) {
    // A sandbox that ended is paused all the same; the next sandboxd sees it from the reason of its end.
    if (!live) Object.assign(entry, { record: paused, live: undefined });
    throw error;
  }
  entry.live = undefined;
  entry.record = paused;
  await context.instances.end(instance, backend, live);
  return { memory, snapshot_bytes: bytes };
}

/** Starts a paused sandbox where it was; `restored: false` when only its files came back. */
export async function resume(context: Context, id: string, expiresAt: number): Promise<Resumed> {
  const entry = entryOf(context, id);
  return await serially(entry, async () => {
    needSnapshots(entry.record);
    if (entry.record.status !== 'paused') {
      throw new NodeError('sandbox_not_running', `the sandbox is ${entry.record.status}, not paused`);
    }
    needSlots(context, 1);
    const woken = wake(context, entry, expiresAt);
    // It takes its slot from here on.
    context.creating.set(id, woken);
    try {
      return await woken;
    } finally {
      context.creating.delete(id);
      context.shims.refill();
    }
  });
}

async function wake(context: Context, entry: Entry, expiresAt: number): Promise<Resumed> {
  const began = performance.now();
  const { snapshot: saved, ended: _told, ...record } = entry.record;
  const { instance, backend } = record;
  // Remains of a pause that could not be written down, or not be ended.
  if ((await context.instances.list()).includes(instance)) await context.instances.end(instance, backend);
  const snapshot = join(context.snapshots, instance);
  const { live, restored } = await revive(context, record, expiresAt, saved?.memory ? snapshot : undefined);
  const heard = restored && { ended: null };
  const running: SandboxRecord = { ...record, ...heard, status: 'running', restored, expires_at: expiresAt };
  try {
    await context.records.save(running);
  } catch (error) {
    await context.instances.end(instance, backend, live);
    throw error;
  }
  entry.record = running;
  entry.live = live;
  watch(context, entry, live);
  if (restored) hearAftermath(context, entry, live);
  await rm(snapshot, { recursive: true, force: true });
  return { restored, ready_ms: Math.round(performance.now() - began) };
}

/** From its snapshot, else cold. */
async function revive(context: Context, record: SandboxRecord, expiresAt: number, snapshot: string | undefined) {
  const { instance: id, backend, guest, uid, egress } = record;
  const start = { id, backend, rootfs: record.image.rootfs, guest, uid, egress, expiresAt };
  if (snapshot !== undefined) {
    try {
      return { live: await context.instances.start({ ...start, snapshot }), restored: true };
    } catch (error) {
      context.log('not restored', { id: record.id, err: error });
    }
  }
  const live = await context.instances.start(start);
  // Its Python kernel is another one, which its next cell says.
  await inTime(live.client.ask({ kind: 'lost', reason: startedAnew }), askMs).catch(() => {});
  return { live, restored: false };
}

const startedAnew = 'the sandbox was started anew from its files: its memory was not kept';

/** Makes children that are what the parent is now; the parent is held until its state is copied. */
export async function fork(
  context: Context,
  id: string,
  children: readonly { id: string; expires_at: number }[],
): Promise<Forked> {
  const entry = entryOf(context, id);
  return await serially(entry, async () => {
    needSnapshots(entry.record);
    const live = liveOf(entry);
    await needRoom(context.snapshots, (await live.group.memoryBytes()) || 0);
    needSlots(context, children.length);
    const release = occupy(entry, 'fork');
    const target = join(context.snapshots, `fork-${randomUUID()}`);
    const began = performance.now();
    const places = children.map((child) => ({ ...child, instance: randomUUID() }));
    const done = Promise.withResolvers<void>();
    for (const child of places) context.creating.set(child.id, done.promise);
    // Each child needs one: they start while the parent's memory is written.
    context.shims.prepare(children.length);
    try {
      const { memory, copied } = await duplicate(context, entry, live, target, places);
      release();
      const snapshot = memory ? target : undefined;
      const made = places.map(async (child, index) => {
        const failed = copied[index]?.status === 'rejected' ? 'the workspace was not copied' : undefined;
        return { id: child.id, ...(await born(context, entry.record, child, snapshot, began, failed)) };
      });
      return { children: await Promise.all(made) };
    } finally {
      release();
      for (const child of places) context.creating.delete(child.id);
      done.resolve();
      await rm(target, { recursive: true, force: true });
      context.shims.refill();
    }
  });
}

/**
 * The parent's memory, then its files as often as asked: what runs in the background meanwhile has written what its copy
 * remembers. One after the other is no slower: a file system that commits for each copy (btrfs: 20 to 100 ms) holds the
 * writing of the memory up for longer than that.
 */
async function duplicate(
  context: Context,
  entry: Entry,
  live: Live,
  target: string,
  places: readonly { instance: string }[],
) {
  const from = entry.record.instance;
  // Children without memory start cold, which their answer says.
  const memory = await save(context, entry, live, target).then(
    () => true,
    () => false,
  );
  const copied = await Promise.allSettled(places.map(({ instance }) => context.workspaces.clone(from, instance)));
  try {
    await inTime(live.client.ask({ kind: 'unfreeze' }), askMs);
    return { memory, copied };
  } catch (error) {
    for (const { instance } of places) await discard(context, entry.record, instance);
    throw error;
  }
}

/** Removes what there is of a child that did not come to be. */
async function discard(context: Context, { backend }: SandboxRecord, instance: string): Promise<void> {
  try {
    await context.instances.end(instance, backend);
    await context.workspaces.remove(instance);
  } catch (error) {
    context.log('rest of a child of a fork', { instance, err: error });
  }
}

/** Starts one child of a fork; a child that fails answers why, and nothing of it stays. */
async function born(
  context: Context,
  parent: SandboxRecord,
  child: { id: string; instance: string; expires_at: number },
  snapshot: string | undefined,
  began: number,
  failed: string | undefined,
): Promise<Resumed & { error?: string }> {
  const { id, instance, expires_at } = child;
  try {
    if (failed !== undefined) throw new Error(failed);
    if (context.entries.has(id)) throw new Error('the id is taken');
    const { ended: _told, ...inherited } = parent;
    const record: SandboxRecord = { ...inherited, id, instance, expires_at };
    const { live, restored } = await revive(context, record, expires_at, snapshot);
    const saved: SandboxRecord = { ...record, ...(restored && { ended: null }), status: 'running', restored };
    await context.records.save(saved);
    const entry = enter(context, saved, live);
    if (restored) hearAftermath(context, entry, live);
    return { restored, ready_ms: Math.round(performance.now() - began) };
  } catch (error) {
    context.log('child of a fork', { id, err: error });
    await discard(context, parent, instance);
    return { restored: false, ready_ms: 0, error: 'the child could not be started' };
  }
}

function needSnapshots({ backend }: SandboxRecord): void {
  if (backend === 'v1') throw new NodeError('not_supported_on_v1', 'v1 sandboxes have no memory snapshots');
}

/** Size of the memory images on disk; undefined when there are none. */
async function bytesOf(dir: string): Promise<number | undefined> {
  const names = await readdir(dir).catch(() => undefined);
  const sizes = names?.map(async (name) => (await stat(join(dir, name))).blocks * 512);
  return sizes && (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Size of a workspace on disk; a sandbox whose files cannot be counted is paused all the same. */
async function filesOf(context: Context, instance: string): Promise<number> {
  try {
    return (await context.workspaces.usage(instance)).bytes;
  } catch (error) {
    context.log('size of a workspace', { instance, err: error });
    return 0;
  }
}
