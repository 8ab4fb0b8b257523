import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { serveAs } from '../devices/index.ts';
import type { Presence } from './hosts.presence.ts';

/** A host's stream: being present lasts as long as it is open. */
export const stream = (presence: Presence): Operation =>
  operation(contract.hosts.stream, async (context, { headers, query }) => {
    const { actor } = context;
    const deviceId = headers['x-svc-device'];
    await serveAs(context.db, { actor, deviceId, takesOver: true });
    const { accountId, keyId } = actor;
    await presence.open({ ...query, accountId, deviceId, keyId }, () => context.openEvents());
  });
