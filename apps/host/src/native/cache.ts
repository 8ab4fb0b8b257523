import { readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { contract, type RouteOutput, schedule } from '@svc/contract';
import { z } from 'zod';
import type { Policy } from '../policy.ts';
import { kindsOf } from '../runs/claims.ts';
import { writePrivate } from '../state.ts';

const nativeSchedule = schedule.pick({
  id: true,
  name: true,
  kind: true,
  spec: true,
  command_hash: true,
  ignore: true,
  upcoming: true,
  timeout_s: true,
});
const cacheFile = z.object({
  paused: z.boolean(),
  until: z.string().optional(),
  schedules: z.array(nativeSchedule),
});

/** The schedules that this machine runs by itself while the gateway is out of reach, as it last knew them. */
export type NativeCache = z.output<typeof cacheFile>;
/** One of them. */

/** Chooses from the account's schedules those that are native to a device and that it can run without asking anyone. */
export function selectNative(
  list: RouteOutput<typeof contract.schedules.list>,
  deviceId: string,
  policy: Policy,
): NativeCache {
  const kinds: readonly string[] = kindsOf(policy);
  const schedules = list.schedules.filter(
    ({ native, enabled, target, kind, policy: rules, upcoming }) =>
      native === true &&
      enabled &&
      target.type === 'host' &&
      target.device_id === deviceId &&
      kinds.includes(kind) &&
      // A run that a person has to approve first waits for the gateway, which asks them.
      (rules?.approval ?? 'never') === 'never' &&
      upcoming.length > 0,
  );
  const { paused, until } = list.pause;
  return { paused, ...(until !== undefined && { until }), schedules: z.array(nativeSchedule).parse(schedules) };
}

/** Keeps the schedules for the time without a gateway. */
export async function writeCache(stateDir: string, cache: NativeCache): Promise<void> {
  await writePrivate(cachePath(stateDir), JSON.stringify(cache), false);
}

/** The schedules as they were last known; none when they never were. */
export async function readCache(stateDir: string): Promise<NativeCache> {
  try {
    return cacheFile.parse(JSON.parse(await readFile(cachePath(stateDir), 'utf8')));
  } catch {
    return { paused: false, schedules: [] };
  }
}

/** The daemon hears the gateway (true) or does not: noted for `svc host fire`, which another process runs. */
export async function noteReached(stateDir: string, reached: boolean): Promise<void> {
  const path = reachedPath(stateDir);
  if (!reached) return rm(path, { force: true });
  const now = new Date();
  await utimes(path, now, now).catch(() => writePrivate(path, '', false));
}

/** True when the daemon heard the gateway less than a minute ago. */
export async function wasReached(stateDir: string): Promise<boolean> {
  const found = await stat(reachedPath(stateDir)).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs < reachedMs;
}

/** The gateway writes every 15 s, and a silence of 45 s ends a connection. */
const reachedMs = 60_000;
const cachePath = (stateDir: string) => join(stateDir, 'native.json');
const reachedPath = (stateDir: string) => join(stateDir, 'reached');
