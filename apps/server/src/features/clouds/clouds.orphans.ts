import type { JobDefinition } from '../../kernel/feature.ts';
import { readFact } from '../../kernel/db/facts.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { unconfirmedFact } from '../../kernel/restored.ts';
import { openCloud } from './clouds.check.ts';
import type { CloudEntry } from './clouds.file.ts';
import { deleteOrphan, keepOrphans, refsOf } from './clouds.orphans.sql.ts';
import type { Clouds } from './clouds.providers.ts';

/** Every five minutes: deletes machines of this installation that no environment has, once it found them for ten minutes. */
export const sweepOrphans = (clouds: Clouds): JobDefinition => ({
  name: 'clouds.orphans',
  cron: '*/5 * * * *',
  retries: 0,
  async run(kernel) {
    // Those made since the backup have no row, and may be somebody's work.
    if (await readFact(kernel.background, unconfirmedFact)) return;
    for (const entry of clouds.all) {
      // A provider that fails must not hold up the others.
      await sweepAt(kernel, clouds, entry).catch((err: unknown) =>
        kernel.log.warn({ err, provider: entry.id }, 'machines without an environment were not looked for'),
      );
    }
  },
});

async function sweepAt(kernel: Kernel, clouds: Clouds, entry: CloudEntry): Promise<void> {
  const { background, clock, log } = kernel;
  const cloud = openCloud({ kernel, entry, installation: await clouds.installation() });
  const there = await cloud.list();
  // Read after the list: a row is written before its machine is asked for.
  const known = await refsOf(background, entry);
  const orphans = there.filter(({ ref, environmentId, status }) => {
    const own = environmentId === undefined ? undefined : known.get(environmentId);
    return status !== 'leaving' && (own === undefined || (own !== null && own !== ref));
  });
  const refs = orphans.map(({ ref }) => ref);
  for (const ref of await keepOrphans(background, clock, entry, refs)) {
    log.warn({ provider: entry.id, ref }, 'a machine that no environment has is deleted');
    await cloud.delete(ref);
    await deleteOrphan(background, entry, ref);
  }
}
