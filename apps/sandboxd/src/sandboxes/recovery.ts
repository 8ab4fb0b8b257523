import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlGroups } from '../parts.ts';
import { type Context, type Entry, enter, lost } from './context.ts';
import { inTime } from './instances.ts';
import type { SandboxRecord } from './record.ts';
import { settle } from './snapshots.ts';

/** A checkpoint that was under way when sandboxd died goes on by itself. */
const checkpointMs = 60_000;

/**
 * Finds again what the sandboxd before this one held: running sandboxes through their shims, paused ones by their files;
 * what neither has is stopped, and what no sandbox owns is removed.
 */
export async function recover(context: Context, groups: ControlGroups): Promise<void> {
  await mkdir(context.snapshots, { recursive: true, mode: 0o700 });
  const records = await context.records.load();
  await Promise.all(records.map((record) => adopt(context, record)));
  const owned = new Set(context.entries.values().map(({ record }) => record.instance));
  await Promise.all([...context.entries.values()].map((entry) => endHalf(context, entry)));
  const others = async (list: Promise<string[]>): Promise<string[]> => (await list).filter((name) => !owned.has(name));
  // The backend matters for what its driver keeps only, and both drivers take an id that they do not know.
  for (const id of await others(context.instances.list())) {
    await context.instances.end(id, 'v2');
    await context.instances.end(id, 'v1');
  }
  for (const id of await others(groups.list())) await context.instances.end(id, 'v2');
  for (const id of await others(context.workspaces.list())) await context.workspaces.remove(id);
  const kept = new Set(
    records.flatMap(({ status, instance }) => (status === 'paused' || status === 'pausing' ? [instance] : [])),
  );
  for (const name of await readdir(context.snapshots)) {
    if (!kept.has(name)) await rm(join(context.snapshots, name), { recursive: true, force: true });
  }
}

/** A pause that came as far as its record, a resume that did not: what runs is not what the record says. */
async function endHalf(context: Context, { record, live }: Entry): Promise<void> {
  if (live) return;
  const running = await context.instances.list();
  if (running.includes(record.instance)) await context.instances.end(record.instance, record.backend);
}

async function adopt(context: Context, record: SandboxRecord): Promise<void> {
  if (record.status === 'paused' || record.status === 'stopped') {
    enter(context, record, undefined);
    return;
  }
  // It answers until its memory is taken, and ends then.
  if (record.status === 'pausing') await context.drivers[record.backend].settled(record.instance);
  const live = await context.instances.adopt(record);
  if (live) {
    const { egress, expires_at } = record;
    await live.client.tell({ egress, expires_at }).catch(() => {});
    await inTime(live.client.ask({ kind: 'unfreeze' }), checkpointMs).catch(() => {});
    const running: SandboxRecord = { ...record, status: 'running' };
    await context.records.save(running);
    enter(context, running, live);
    return;
  }
  const entry = enter(context, record, undefined);
  if (record.status === 'running') return await lost(context, entry);
  const ended = await context.instances.ended(record.instance);
  await settle(context, entry, undefined, ended?.reason === 'exited' && ended.code === 0);
}
