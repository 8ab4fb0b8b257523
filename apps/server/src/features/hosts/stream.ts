import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Presence } from './hosts.presence.ts';

/** A host's stream: being present lasts as long as it is open. */
export const stream = (presence: Presence): Operation =>
  operation(contract.hosts.stream, async (context, { headers, query }) => {
    await presence.open({ ...query, accountId: context.actor.accountId, deviceId: headers['x-svc-device'] }, () =>
      context.openEvents(),
    );
  });
