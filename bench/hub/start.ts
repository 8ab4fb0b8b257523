import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hashOfSources, hubFolder } from '@svc/hub/sources';
import { startPlatform, temporaryDataDir } from '../lib/platform.ts';
import { atMost, type Findings } from '../lib/report.ts';
import { median } from '../lib/stats.ts';

const restMs = 5_000;

/** From the command to ready with the hub built, and with the build still to be made beside it. */
export async function measureStarts(starts: number): Promise<Findings> {
  using dataDir = temporaryDataDir();
  const hash = await hashOfSources();
  // Where the platform runs as another user than the sources' it builds into its data dir.
  const builds = [join(hubFolder, 'dist', hash), join(dataDir.path, 'hub', hash)];
  const start = async (isBuilt: boolean): Promise<{ readyMs: number; pageMs: number }> => {
    if (!isBuilt) for (const build of builds) await rm(build, { recursive: true, force: true });
    await using platform = await startPlatform(dataDir.path);
    const began = performance.now();
    let status = 0;
    while (status !== 200) status = (await fetch(`http://127.0.0.1:${platform.port}/hub/`)).status;
    const pageMs = performance.now() - began;
    // What begins beside a start as root is not ended in the middle of it.
    await delay(restMs);
    return { readyMs: platform.readyMs, pageMs };
  };
  // The first one makes the database and the build.
  await start(true);
  const times = { built: [] as number[], absent: [] as number[], page: [] as number[] };
  for (let n = 0; n < starts; n += 1) {
    times.built.push((await start(true)).readyMs);
    const { readyMs, pageMs } = await start(false);
    times.absent.push(readyMs);
    times.page.push(pageMs);
  }
  const row = (what: string, values: number[]) => ({ what, 'p50 ms': median(values), 'max ms': Math.max(...values) });
  const later = median(times.absent) - median(times.built);
  return {
    rows: [
      row('command to ready, hub built', times.built),
      row('command to ready, hub to be built', times.absent),
      row('and then to its page', times.page),
    ],
    targets: [atMost('ready is later by, ms', later, 50)],
  };
}
