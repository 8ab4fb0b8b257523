import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { templates } from '@svc/contract';
import type { ChangeRequest, NewSandbox, SandboxState } from '@svc/sandboxd-api';
import { NodeError } from '../error.ts';
import { guestUid, type Image } from '../parts.ts';
import { type Context, type Entry, enter, entryOf, needSlots, serially } from './context.ts';
import { inTime, type Live, type Start } from './instances.ts';
import { isWarmed } from './pool.ts';
import { type SandboxRecord, stateOf } from './record.ts';

/** How long a create waits for its image. */
const imageMs = 120_000;
/** Host users of v1 sandboxes: one for each, so that they cannot meet on the host either. */
const firstUid = 720_000;
const uids = 50_000;

/** Creates a sandbox; repeated, it answers the one there is. */
export async function create(context: Context, id: string, wanted: NewSandbox): Promise<SandboxState> {
  // Several may wait for one, and the first to go on begins another.
  while (context.creating.has(id)) await context.creating.get(id)?.catch(() => {});
  const present = context.entries.get(id);
  if (present) return stateOf(present.record);
  if (wanted.backend === 'v1' && !templates[wanted.template].v1) {
    throw new NodeError('bad_request', `v1 has no template ${wanted.template}`);
  }
  if (wanted.expires_at <= Date.now()) throw new NodeError('bad_request', 'expires_at is over');
  needSlots(context, 1);
  const made = begin(context, id, wanted);
  context.creating.set(id, made);
  try {
    return stateOf((await made).record);
  } finally {
    context.creating.delete(id);
    context.pool.refill();
    context.shims.refill();
  }
}

async function begin(context: Context, id: string, wanted: NewSandbox): Promise<Entry> {
  const warm = wanted.backend === 'v2' && templates[wanted.template].warm ? context.pool.take() : undefined;
  if (!warm) return await startNew(context, id, wanted);
  const { live, image } = warm;
  const { owner = '', backend, template, egress, expires_at } = wanted;
  const { digest, rootfs } = image;
  const { id: instance, guest, uid } = live.instance;
  const own = { id, owner, instance, guest, uid, backend, template, egress, expires_at };
  const record: SandboxRecord = { ...own, status: 'running', restored: true, image: { digest, rootfs } };
  try {
    // First: what is recorded as running must run, whatever becomes of sandboxd meanwhile.
    await live.group.freeze(false);
    await Promise.all([context.records.save(record), live.client.tell({ egress, expires_at })]);
  } catch {
    // It died between two looks; the next one is as good.
    await context.instances.end(instance, backend, live);
    await context.workspaces.remove(instance);
    return await begin(context, id, wanted);
  }
  return enter(context, record, live);
}

async function startNew(context: Context, id: string, wanted: NewSandbox): Promise<Entry> {
  const { owner = '', backend, template, egress, expires_at } = wanted;
  await context.drivers[backend].check();
  const image = await context.images.ready(template, imageMs);
  const golden = backend === 'v2' ? await goldenOf(context, image) : undefined;
  const instance = randomUUID();
  const uid = backend === 'v2' ? guestUid : freeUid(context);
  const { digest, rootfs } = image;
  const guest = context.guest.path;
  const start = { id: instance, backend, rootfs, guest, uid, expiresAt: expires_at, egress };
  const own = { id, owner, instance, guest, uid, backend, template, egress, expires_at, image: { digest, rootfs } };
  await context.workspaces.create(instance, uid);
  try {
    const { live, restored } = await startFrom(context, start, golden);
    const record: SandboxRecord = { ...own, status: 'running', restored };
    await context.records.save(record);
    if (backend === 'v2' && !restored) {
      context.pool.prepare(image).catch((error: unknown) => context.log('golden snapshot', { err: error, template }));
    }
    return enter(context, record, live);
  } catch (error) {
    await context.instances.end(instance, backend);
    await context.workspaces.remove(instance);
    throw error;
  }
}

/** Where something is to run first, the first sandbox waits for it here (8 s), not in its first command (5 s instead of 2). */
async function goldenOf(context: Context, image: Image): Promise<string | undefined> {
  const { pool } = context;
  const golden = await pool.golden(image);
  if (golden !== undefined || !isWarmed(image.template)) return golden;
  const failed = (error: unknown): void => context.log('golden snapshot', { err: error, template: image.template });
  await inTime(pool.prepare(image), imageMs).catch(failed);
  return await pool.golden(image);
}

/** From the golden snapshot; one that cannot be read is removed, and made anew. */
async function startFrom(
  context: Context,
  start: Start,
  golden: string | undefined,
): Promise<{ live: Live; restored: boolean }> {
  if (golden !== undefined) {
    try {
      return { live: await context.instances.start({ ...start, snapshot: golden }), restored: true };
    } catch (error) {
      context.log('golden snapshot not restored', { err: error });
      await rm(golden, { recursive: true, force: true });
    }
  }
  return { live: await context.instances.start(start), restored: false };
}

function freeUid(context: Context): number {
  const taken = new Set([...context.entries.values()].map(({ record }) => record.uid));
  const start = Math.floor(Math.random() * uids);
  for (let step = 0; step < uids; step += 1) {
    const uid = firstUid + ((start + step) % uids);
    if (!taken.has(uid)) return uid;
  }
  throw new NodeError('sandbox_capacity', 'no host user is free');
}

/** Ends a sandbox and removes whatever there is of it. Unknown: nothing. */
export async function destroy(context: Context, id: string): Promise<void> {
  await context.creating.get(id)?.catch(() => {});
  const entry = context.entries.get(id);
  if (!entry) return;
  // Does not wait for the code that runs inside.
  const { live } = entry;
  if (live) {
    entry.live = undefined;
    void live.client.tell({ stop: true }).catch(() => {});
  }
  await serially(entry, async () => {
    if (context.entries.get(id) !== entry) return;
    const { instance, backend } = entry.record;
    // From here on nobody owns what is left: should this process end, the next one removes it.
    await context.records.remove(id);
    await context.instances.end(instance, backend, live ?? entry.live);
    await context.workspaces.remove(instance);
    await rm(join(context.snapshots, instance), { recursive: true, force: true });
    context.entries.delete(id);
  });
}

/**
 * Stops a sandbox where it stands, or lets it go on, and keeps since when; it ends at its time all the same. Where
 * control groups cannot (before Linux 5.2, or without rights) it runs on. Throws `no_sandbox`.
 */
export async function freeze(context: Context, id: string, frozen: boolean): Promise<void> {
  const entry = entryOf(context, id);
  await serially(entry, async () => {
    const { frozenAt, ...rest } = entry.record;
    const record: SandboxRecord = frozen ? { ...rest, frozenAt: frozenAt ?? Date.now() } : rest;
    await entry.live?.group.freeze(frozen);
    await context.records.save(record);
    entry.record = record;
  });
}

/** Sets when it ends by itself, and where it may connect to from now on. */
export async function change(
  context: Context,
  id: string,
  { expires_at, egress }: ChangeRequest,
): Promise<SandboxState> {
  const changes = { ...(expires_at !== undefined && { expires_at }), ...(egress !== undefined && { egress }) };
  const entry = entryOf(context, id);
  return await serially(entry, async () => {
    const record = { ...entry.record, ...changes };
    await context.records.save(record);
    entry.record = record;
    await entry.live?.client.tell(changes);
    return stateOf(entry.record);
  });
}
