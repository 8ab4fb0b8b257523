import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkLease, type Sessions } from './sessions.store.ts';
import { checkServing } from './sessions.serving.ts';
import { setLease } from './sessions.sql.ts';
import { leaseOf } from './sessions.view.ts';

/** Takes the lease, or renews it. */
export const takeLease = (sessions: Sessions): Operation =>
  operation(contract.sessions.takeLease, async (context, { headers, params }) => {
    const deviceId = headers['x-svc-device'];
    await checkServing(context, deviceId, params.id);
    return context.transaction(async (tx) => {
      checkLease(await sessions.lock(tx, context.actor.accountId, params.id), deviceId);
      const after = await setLease(tx, context.clock, params.id, deviceId);
      const lease = leaseOf(after) ?? { device_id: deviceId, expires_at: after.lease_until as string };
      await sessions.streams.publish(tx, { sessionId: params.id, lease });
      return { lease };
    });
  });
