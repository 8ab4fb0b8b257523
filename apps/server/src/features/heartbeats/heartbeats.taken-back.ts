import { writeAct } from '../../kernel/records/audit.ts';
import type { TakesBack } from '../../kernel/records/let-in.ts';
import { deleteBadge, deletePingKey } from './heartbeats.keys.sql.ts';

/** Takes back the ping key and the badges that an app made. */
export const heartbeatsTakeBack: TakesBack = {
  async ping_key(tx, { accountId, by }) {
    if (await deletePingKey(tx, accountId)) await writeAct(tx, { accountId, by, action: 'heartbeats.removePingKey' });
  },
  async badge(tx, { ids: [id = ''], accountId, by }) {
    const monitorId = id === accountId ? null : id;
    if (!(await deleteBadge(tx, { accountId, monitorId }))) return;
    const action = monitorId === null ? 'heartbeats.removeAccountBadge' : 'heartbeats.removeBadge';
    await writeAct(tx, { accountId, by, action, subject: monitorId ?? undefined });
  },
};
