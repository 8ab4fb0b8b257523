import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlGroups } from '../parts.ts';
import { hearAftermath } from './aftermath.ts';
import { type Context, type Entry, enter, lost } from './context.ts';
import { inTime } from './instances.ts';
import type { SandboxRecord } from './record.ts';
import { settle } from './snapshots.ts';

/** A checkpoint that was under way when sandboxd died goes on by itself. */
const checkpointMs = 60_000;

/**
 * Finds again what the sandboxd before this one held: running sandboxes through their shims, paused ones by their files;
 * what neither has is stopped, and what no sandbox owns is removed. What fails for one is told, and is no matter of the
 * others.
 */
export async function recover(context: Context, groups: ControlGroups): Promise<void> {
  const { instances, workspaces, snapshots, entries } = context;
  const each = async <T>(what: string, list: readonly T[], work: (one: T) => Promise<void>): Promise<void> => {
    const failed = (error: unknown): void => context.log('recovery', { what, err: error });
    await Promise.all(list.map((one) => work(one).catch(failed)));
  };
  await mkdir(snapshots, { recursive: true, mode: 0o700 });
  await each('sandbox', await context.records.load(), (record) => adopt(context, record));
  const records = entries
    .values()
    .map(({ record }) => record)
    .toArray();
  const owned = new Set(records.map(({ instance }) => instance));
  await each('instance of a record', [...entries.values()], (entry) => endHalf(context, entry));
  const others = async (list: Promise<string[]>): Promise<string[]> => (await list).filter((name) => !owned.has(name));
  // The backend matters for what its driver keeps only, and both drivers take an id that they do not know.
  await each('instance', await others(instances.list()), async (id) => {
    await instances.end(id, 'v2');
    await instances.end(id, 'v1');
  });
  await each('group', await others(groups.list()), (id) => instances.end(id, 'v2'));
  await each('workspace', await others(workspaces.list()), (id) => workspaces.remove(id));
  const kept = new Set(
    records.flatMap(({ status, instance }) => (status === 'paused' || status === 'pausing' ? [instance] : [])),
  );
  const left = (await readdir(snapshots)).filter((name) => !kept.has(name));
  await each('snapshot', left, (name) => rm(join(snapshots, name), { recursive: true, force: true }));
}

/** A pause that came as far as its record, a resume that did not: what runs is not what the record says. */
async function endHalf(context: Context, { record, live }: Entry): Promise<void> {
  if (live) return;
  const running = await context.instances.list();
  if (running.includes(record.instance)) await context.instances.end(record.instance, record.backend);
}

async function adopt(context: Context, record: SandboxRecord): Promise<void> {
  const { id, instance, backend, status, egress, expires_at } = record;
  if (status === 'paused' || status === 'stopped') {
    enter(context, record, undefined);
    return;
  }
  // It answers until its memory is taken, and ends then.
  if (status === 'pausing') await context.drivers[backend].settled(instance);
  const live = await context.instances.adopt(record);
  if (live) {
    await live.client.tell({ egress, expires_at }).catch(() => {});
    if (record.frozenAt === undefined)
      await inTime(live.client.ask({ kind: 'unfreeze' }), checkpointMs).catch(() => {});
    const running: SandboxRecord = { ...record, status: 'running' };
    // On a disk that takes nothing it is still said to be pausing, which the next sandboxd understands as this one did.
    await context.records.save(running).catch((error: unknown) => context.log('record not saved', { id, err: error }));
    const entry = enter(context, running, live);
    // The sandboxd that restored it may not have lived to hear.
    if (record.ended === null) hearAftermath(context, entry, live);
    return;
  }
  const entry = enter(context, record, undefined);
  if (status === 'running') return await lost(context, entry);
  const ended = await context.instances.ended(instance);
  await settle(context, entry, undefined, ended?.reason === 'exited' && ended.code === 0);
}
