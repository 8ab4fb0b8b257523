import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkLease, type Sessions } from './sessions.store.ts';
import { checkServing } from './sessions.serving.ts';
import { setLease } from './sessions.sql.ts';

/** Gives the lease back; one that is free stays so. */
export const dropLease = (sessions: Sessions): Operation =>
  operation(contract.sessions.dropLease, async (context, { headers, params }) => {
    const deviceId = headers['x-svc-device'];
    await checkServing(context, deviceId, params.id);
    return context.transaction(async (tx) => {
      const session = await sessions.lock(tx, context.actor.accountId, params.id);
      if (!session.is_held) return { released: false };
      checkLease(session, deviceId);
      await setLease(tx, context.clock, params.id, null);
      await sessions.streams.publish(tx, { sessionId: params.id, lease: null });
      return { released: true };
    });
  });
