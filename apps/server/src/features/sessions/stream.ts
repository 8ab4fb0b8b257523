import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { noteListens } from '../devices/index.ts';
import type { Sessions } from './sessions.store.ts';
import { checkServing } from './sessions.serving.ts';
import type { SessionListener } from './sessions.turns.ts';

/** Controls for the calling device. */
export const stream = (sessions: Sessions, listener: SessionListener): Operation =>
  operation(contract.sessions.stream, async (context, { headers }) => {
    const deviceId = headers['x-svc-device'];
    await checkServing(context, deviceId);
    const { accountId } = context.actor;
    const adopt = () =>
      context.transaction(async (tx) => {
        await noteListens(tx, accountId, deviceId);
        await sessions.adopt(tx, { accountId, deviceId }, listener);
      });
    await sessions.streams.followDevice({ accountId, deviceId, adopt }, context.openEvents());
  });
