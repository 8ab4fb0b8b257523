import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import { toControl } from './sessions.view.ts';

export const sendControl = (sessions: Sessions): Operation =>
  operation(contract.sessions.sendControl, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const { type, text, target_device_id: target } = body;
      const { accountId } = context.actor;
      const control = { accountId, sessionId: params.id, type, text, target, from: context.deviceId };
      const row = await sessions.control(tx, control);
      const details = { session: params.id, type, device: row.target_device_id };
      await writeAct(tx, { accountId, by: context.by, action: 'sessions.sendControl', subject: row.id, details });
      return toControl(row);
    }),
  );
