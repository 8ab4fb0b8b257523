import { gaugeOfRows } from '../../kernel/db/counted.ts';
import { countRuns } from './summary/metrics.sql.ts';
import { contract } from '@svc/contract';
import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import { plus, readNow } from '../../kernel/db/instant.ts';
import { appendLog } from './appendLog.ts';
import { cancel } from './cancel.ts';
import { Claims, claim } from './claim.ts';
import { decide } from './decide.ts';
import { fire } from './fire.ts';
import { getHost } from './getHost.ts';
import { getRun } from './getRun.ts';
import { heartbeat } from './heartbeat.ts';
import { hosts } from './hosts.ts';
import { schedulerManifest, type Scheduler } from './index.ts';
import { removeHost } from './removeHost.ts';
import { storeLogs, sweepLogs } from './logs/store.ts';
import { log } from './log.ts';
import { reportNative } from './reportNative.ts';
import { rerun } from './rerun.ts';
import { result } from './result.ts';
import { runs } from './runs.ts';
import { sweepHosts } from './claims/hosts.sql.ts';
import { type CloudBackends, CloudRunner } from './cloud/cloud.ts';
import { sweepRuns, trimRuns } from './scheduler.sql.ts';
import { sweepSpecs } from './work/specs.sql.ts';
import { Ticker } from './tickers/ticker.ts';
import { updateHost } from './updateHost.ts';
import { schedulerOverview } from './summary/summary.ts';

const sweep: JobDefinition = {
  name: 'scheduler.sweep',
  cron: '17 3 * * *',
  async run({ sql, clock, blobs, config }) {
    const now = await readNow(sql, clock);
    await sweepLogs({ sql, blobs }, now.iso);
    await sweepRuns(sql, plus(now, -config.runDays * 86_400_000).iso);
    await sweepSpecs(sql, plus(now, -3_600_000).iso);
    await sweepHosts(sql, now.iso);
  },
};

/** Runs that are kept of an account; at 1,200 a minute (`SVC_QUOTA_SLOTS_PER_MINUTE`) an hour adds 72,000. */
const mostRunsKept = 200_000;

const trim: JobDefinition = {
  name: 'scheduler.trim',
  cron: '47 * * * *',
  async run({ sql }) {
    await trimRuns(sql, mostRunsKept);
  },
};

/** Runs and hosts: turns due schedules into runs, leases them to hosts, ends them. */
export function schedulerFeature(scheduler: Scheduler, backends: CloudBackends): Feature {
  const { parts } = scheduler;
  const claims = new Claims(parts, backends.rights);
  const cloud = new CloudRunner(parts, backends);
  const inBackground = { ...parts, kernel: { ...parts.kernel, sql: parts.kernel.background } };
  const ticker = new Ticker(inBackground, () => cloud.look());
  return {
    ...schedulerManifest,
    operations: {
      claim: claim(claims),
      heartbeat: heartbeat(parts),
      result: result(parts),
      decide: decide(parts),
      cancel: cancel(parts),
      runs,
      getRun,
      rerun: rerun(scheduler, backends.rights),
      log: log(parts),
      appendLog: appendLog(parts),
      hosts,
      getHost,
      updateHost: updateHost(parts),
      removeHost,
      reportNative: reportNative(parts),
      fire: fire(parts),
    },
    jobs: [sweep, trim, storeLogs],
    overview: schedulerOverview,
    topic: contract.scheduler.runs,
    async start(_kernel, { works }) {
      await parts.changes.start();
      if (works) {
        ticker.start();
        const help = 'Runs that wait for a place, a machine or an approval, and those that run';
        gaugeOfRows(parts.kernel, { name: 'svc_runs', help, label: 'state' }, countRuns);
      }
      return {
        async drain() {
          claims.drain();
          await Promise.all([ticker.stop(), cloud.stop()]);
        },
      };
    },
  };
}
