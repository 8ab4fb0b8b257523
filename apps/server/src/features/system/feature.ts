import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { PartPresence } from '../../kernel/peers/parts.ts';
import { backups } from './backups.ts';
import { backUp } from './backUp.ts';
import { get, type SystemParts } from './get.ts';
import { listBackups } from './listBackups.ts';
import { readBackup } from './readBackup.ts';
import { removeBackupPlace } from './removeBackupPlace.ts';
import { setBackupPlace } from './setBackupPlace.ts';
import { startOutageWatch } from './system.outage.ts';

/** How the installation does, for its operators. */
export const systemFeature = (parts: SystemParts): Feature => ({
  name: 'system',
  operations: { get: get(parts), backups, backUp, setBackupPlace, removeBackupPlace, listBackups, readBackup },
  start(kernel, { serves, isCopy }) {
    const { gateways, metrics } = kernel;
    metrics.gauge('svc_workers', 'Processes whose tickers turned within 40 s', () => gateways.workers());
    metrics.gauge(
      'svc_worker_idle_seconds',
      'For how long no process of the platform has done what is due by the clock',
      () => (gateways.idleMs() ?? Number.NaN) / 1_000,
    );
    metrics.gauge('svc_relays', 'Processes that relay alone', () => gateways.relays());
    const { nodes } = parts.sandboxes;
    metrics.gauges(
      'svc_sandbox_nodes',
      'Sandbox nodes: those that this process uses, and those of the platform that are refused or missing',
      'state',
      () => ({
        used: nodes.all().filter(({ refusedFor }) => refusedFor === undefined).length,
        refused: nodes.counts()?.refused ?? 0,
        missing: nodes.counts()?.lost ?? 0,
      }),
    );
    if (serves) sayReadiness(kernel, nodes);
    const watch = serves && isCopy !== true ? startOutageWatch(kernel, nodes) : undefined;
    return Promise.resolve({ drain: async () => watch?.stop() });
  },
});

/** A gateway is not ready while a relay or a node is missing that the platform has had. */
function sayReadiness({ readiness, gateways }: Kernel, nodes: SystemParts['sandboxes']['nodes']): void {
  const check = (presence: PartPresence | undefined, error: string) =>
    presence === undefined || presence === 'none'
      ? undefined
      : { ok: presence === 'there', ...(presence === 'missing' && { error }) };
  readiness.set('relay', () => check(gateways.relayPresence(), 'no relay for 40 s: machines that connect to it wait'));
  readiness.set('sandboxes', () => {
    // It was said by the node itself: nothing is to be waited for.
    const error = nodes.refusal();
    if (error !== undefined) return { ok: false, error };
    return check(nodes.presence(), 'a sandbox node has not answered for 40 s');
  });
}
