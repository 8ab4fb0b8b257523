import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import { deepLink, notifyMany } from '../notifications/index.ts';
import type { MonitorState } from './heartbeats.rules.ts';
import type { MonitorStep, Transition } from './heartbeats.steps.ts';
import type { MonitorRow } from './heartbeats.sql.ts';

/** Hooks of other features for a monitor that goes down or recovers, called in the transaction of that change. */
export interface HeartbeatHooks {
  onTransition?: (
    tx: Db,
    transition: { accountId: string; monitorId: string; event: Transition['event'] },
  ) => Promise<void>;
}

/** One transition of a monitor, with the outage it belongs to. */
export interface Happened {
  monitor: Pick<MonitorRow, 'id' | 'account_id' | 'name'>;
  outage: number;
  transition: Transition;
}

/** The transitions of a monitor in a step; several outages in one step have a number each. */
export function happenedIn(monitor: Happened['monitor'], before: MonitorState, step: MonitorStep): Happened[] {
  let { outage } = before;
  return step.transitions.map((transition) => {
    if (transition.event === 'heartbeat.down') outage += 1;
    return { monitor, outage, transition };
  });
}

/** Tells the accounts and the hooks. The outage's number keeps an alert from being sent twice. */
export async function announce(
  kernel: Kernel,
  tx: Db,
  hooks: HeartbeatHooks,
  happened: readonly Happened[],
): Promise<void> {
  await notifyMany(
    kernel,
    tx,
    happened.map(({ monitor, outage, transition: { event, reason } }) => ({
      accountId: monitor.account_id,
      dedupeKey: `${event}:${monitor.id}:${outage}`,
      type: event,
      title: event === 'heartbeat.down' ? `${monitor.name} is down` : `${monitor.name} is up again`,
      body: reason,
      url: deepLink(kernel.config, 'heartbeats', monitor.id),
      severity: event === 'heartbeat.down' ? 'critical' : 'info',
      data: { heartbeat_id: monitor.id },
    })),
  );
  for (const { monitor, transition } of happened) {
    await hooks.onTransition?.(tx, { accountId: monitor.account_id, monitorId: monitor.id, event: transition.event });
  }
}
