import { contract, type relayStatus } from '@svc/contract';
import type { z } from 'zod';
import { operation } from '../../kernel/feature.ts';
import { enter, isAtLeast, isServed, portsForViewers } from '../environments/index.ts';
import { usableSeconds } from './relay.daemons.ts';
import { type AttachedRow, attachedTo, findPresence, type DaemonRow } from './relay.sql.ts';

export const status = operation(contract.relay.status, async (context, { params: { id } }) => {
  const { db } = context;
  const environment = await enter(db, { accountId: context.actor.accountId, id, least: 'viewer' });
  const [row, attached, published] = await Promise.all([
    findPresence(db, id, usableSeconds),
    attachedTo(db, id),
    portsForViewers(db, id),
  ]);
  const isShown = ({ port }: { port: number }): boolean =>
    isAtLeast(environment.role, 'developer') || published.has(port);
  // What was put aside, or destroyed, has no machine any more, whatever one said last.
  const shown = toStatus(id, isServed(environment) ? row : undefined, attached);
  // What else listens on a machine is for those who may open it: a viewer has no way there, and learns what runs.
  return { ...shown, ports: shown.ports.filter(isShown) };
});

/** What is known of a machine that is away is what it reported last. */
function toStatus(
  id: string,
  row: DaemonRow | undefined,
  attached: readonly AttachedRow[],
): z.input<typeof relayStatus> {
  const isUsable = row !== undefined && row.is_online && row.is_usable;
  const report = row?.report ?? null;
  return {
    environment_id: id,
    online: row?.is_online ?? false,
    usable: isUsable,
    usable_since: isUsable ? epochOf(row.usable_since) : null,
    instance: row?.is_online ? row.instance_id : null,
    last_heartbeat: epochOf(row?.reported_at ?? null),
    activity: report?.activity ?? null,
    ports: report?.listeners ?? [],
    git_state: report?.git_state ?? null,
    daemon: report?.daemon ?? null,
    streams: attached.reduce((sum, { streams }) => sum + streams, 0),
    attached: attached.map((one) => ({
      client_id: one.client_id,
      user_id: one.account_id,
      role: one.role,
      kind: one.kind,
      device_id: one.device_id,
      name: one.name,
      platform: one.platform,
      attached_at: Date.parse(one.attached_at),
    })),
    locks: report?.locks ?? [],
    clients: new Set(attached.map(({ client_id: client }) => client)).size,
  };
}

const epochOf = (at: string | null): number | null => (at === null ? null : Date.parse(at));
