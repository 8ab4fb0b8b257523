import { retireActs } from '../../kernel/records/audit.ts';
import { plus, readNow } from '../../kernel/db/instant.ts';
import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import { auditManifest } from './index.ts';
import { list } from './list.ts';

/** Every night: deletes lines past the retention. */
const retire: JobDefinition = {
  name: 'audit.retire',
  cron: '17 3 * * *',
  retries: 0,
  timeoutSeconds: 1_800,
  async run({ sql, clock, config }) {
    const now = await readNow(sql, clock);
    await retireActs(sql, plus(now, -config.auditDays * 86_400_000).iso);
  },
};

/** The audit log, which the kernel writes. */
export const auditFeature: Feature = { ...auditManifest, operations: { list }, jobs: [retire] };
