import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import { ackControl as acknowledge } from './sessions.controls.sql.ts';
import { checkServing } from './sessions.serving.ts';
import { controlChange } from './sessions.streams.ts';
import type { SessionListener } from './sessions.turns.ts';
import { toControl } from './sessions.view.ts';

/** Notes that the calling device took a control; a repeat answers the same. */
export const ackControl = ({ streams }: Sessions, listener: SessionListener): Operation =>
  operation(contract.sessions.ackControl, async (context, { headers, params }) => {
    const deviceId = headers['x-svc-device'];
    await checkServing(context, deviceId);
    return context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const which = { accountId, deviceId, sessionId: params.id, id: params.control_id };
      const row = await acknowledge(tx, context.clock, which);
      if (!row) throw notFound('control for this device');
      if (row.is_first) {
        await listener.control(tx, row);
        await streams.publish(tx, { sessionId: params.id, control: controlChange(row) });
      }
      return toControl(row);
    });
  });
