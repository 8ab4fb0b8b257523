import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listWaiting } from './machines.sql.ts';
import { machineOf } from './machines.view.ts';

export const approvals = operation(
  contract.machines.approvals,
  async ({ db, clock, actor: { accountId } }, { params: { device_id: deviceId }, query }) => {
    await machineOf(db, clock, accountId, deviceId);
    const { rows, next } = pageOf(await listWaiting(db, accountId, deviceId, query), query.limit);
    const waiting = rows.map(({ id, name, command, command_hash, since }) => ({
      schedule_id: id,
      name,
      command,
      command_hash,
      since,
      line: `svc host approve ${id}`,
    }));
    return { approvals: waiting, ...next };
  },
);
