import { gaugeOfRows } from '../../kernel/db/counted.ts';
import { contract } from '@svc/contract';
import { heartbeatsManifest } from './index.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Feature } from '../../kernel/feature.ts';
import { badgeJson } from './badgeJson.ts';
import { badgeSvg } from './badgeSvg.ts';
import { createAccountBadge } from './createAccountBadge.ts';
import { createBadge } from './createBadge.ts';
import { listBadges } from './listBadges.ts';
import { removeAccountBadge } from './removeAccountBadge.ts';
import { removeBadge } from './removeBadge.ts';
import { create } from './create.ts';
import { createPingKey } from './createPingKey.ts';
import { getPingKey } from './getPingKey.ts';
import { removePingKey } from './removePingKey.ts';
import type { HeartbeatHooks } from './heartbeats.alert.ts';
import { PingBatches } from './heartbeats.batch.ts';
import { DeadlineTicker } from './heartbeats.ticker.ts';
import { get } from './get.ts';
import { sweep } from './history/keep.ts';
import { list } from './list.ts';
import { log } from './log.ts';
import { ping } from './ping.ts';
import { pings } from './pings.ts';
import { remove } from './remove.ts';
import { rotate } from './rotate.ts';
import { signal } from './signal.ts';
import { signalSlug } from './signalSlug.ts';
import { stream } from './stream.ts';
import { update } from './update.ts';
import { countDown } from './heartbeats.summary.sql.ts';
import { heartbeatsOverview } from './heartbeats.summary.ts';
import { heartbeatsChangesLeft, heartbeatsTakeBack, heartbeatsUndo } from './heartbeats.taken-back.ts';

/** Monitors of jobs that run elsewhere. A hook that throws undoes its transition, which is tried again. */
export function heartbeatsFeature(kernel: Kernel, hooks: HeartbeatHooks = {}): Feature {
  const batches = new PingBatches(kernel, hooks);
  const ticker = new DeadlineTicker(kernel, hooks);
  return {
    ...heartbeatsManifest,
    operations: {
      list,
      create,
      stream,
      get,
      update: update(hooks),
      remove,
      rotate,
      pings,
      log,
      createPingKey,
      badgeJson,
      badgeSvg,
      createAccountBadge,
      createBadge,
      listBadges,
      removeAccountBadge,
      removeBadge,
      getPingKey,
      removePingKey,
      ping: ping(batches),
      signal: signal(batches),
      signalSlug: signalSlug(batches),
    },
    overview: heartbeatsOverview,
    takesBack: heartbeatsTakeBack,
    undoes: heartbeatsUndo(kernel),
    changesLeft: heartbeatsChangesLeft,
    jobs: [sweep],
    topic: contract.heartbeats.list,
    start(_kernel, { works }) {
      if (works) {
        ticker.start();
        const help = 'Monitors that are down, of all accounts';
        gaugeOfRows(kernel, { name: 'svc_monitors', help, label: 'status' }, async (db) => ({
          down: (await countDown(db)).down,
        }));
        kernel.metrics.gauge('svc_monitor_lag_seconds', 'How long the oldest deadline of a monitor has passed', () =>
          countDown(kernel.background).then(
            ({ late_s: seconds }) => seconds,
            () => Number.NaN,
          ),
        );
      }
      return Promise.resolve({ stop: () => ticker.stop() });
    },
  };
}
