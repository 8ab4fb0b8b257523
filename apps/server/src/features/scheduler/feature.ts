import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import type { Sandboxes } from '../sandboxes/index.ts';
import { cancel } from './cancel.ts';
import { Claims, claim } from './claim.ts';
import { decide } from './decide.ts';
import { fire } from './fire.ts';
import { heartbeat } from './heartbeat.ts';
import { hosts } from './hosts.ts';
import type { Scheduler } from './index.ts';
import { reportNative } from './reportNative.ts';
import { result } from './result.ts';
import { runs } from './runs.ts';
import { sweepHosts } from './scheduler.claims.sql.ts';
import { CloudRunner } from './scheduler.cloud.ts';
import { sweepRuns } from './scheduler.sql.ts';
import { Ticker } from './scheduler.ticker.ts';
import { updateHost } from './updateHost.ts';

const sweep: JobDefinition = {
  name: 'scheduler.sweep',
  cron: '17 3 * * *',
  async run({ sql, clock }) {
    const { iso: now } = await readNow(sql, clock);
    await sweepRuns(sql, now);
    await sweepHosts(sql, now);
  },
};

/** Runs and hosts: turns due schedules into runs, leases them to hosts, ends them. */
export function schedulerFeature({ parts }: Scheduler, sandboxes: Sandboxes): Feature {
  const claims = new Claims(parts);
  const cloud = new CloudRunner(parts, sandboxes);
  const ticker = new Ticker(parts, () => cloud.look());
  return {
    name: 'scheduler',
    operations: {
      claim: claim(claims),
      heartbeat: heartbeat(parts),
      result: result(parts),
      decide: decide(parts),
      cancel: cancel(parts),
      runs,
      hosts,
      updateHost: updateHost(parts),
      reportNative: reportNative(parts),
      fire: fire(parts),
    },
    jobs: [sweep],
    async start(_kernel, { works }) {
      await parts.changes.start();
      if (works) ticker.start();
      return {
        async drain() {
          claims.drain();
          await Promise.all([ticker.stop(), cloud.stop()]);
        },
      };
    },
  };
}
