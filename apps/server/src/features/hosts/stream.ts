import { contract } from '@svc/contract';
import { type Operation, streamOperation } from '../../kernel/feature.ts';
import type { Presence } from './hosts.presence.ts';

/** A host's stream: being present lasts as long as it is open. */
export const stream = (presence: Presence): Operation =>
  streamOperation(contract.hosts.stream, async (context, { headers, query }, start) => {
    await presence.open({ ...query, accountId: context.actor.accountId, deviceId: headers['x-svc-device'] }, start);
  });
