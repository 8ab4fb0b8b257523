import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { serveAs } from '../devices/index.ts';
import type { Presence } from './hosts.presence.ts';

/** Operations on their way to one host, of 12 MiB at most each (design: kernel, Streams); further ones are refused. */
const mostBytesOnTheWay = 16 * 1024 * 1024;

/** A host's stream: being present lasts as long as it is open. */
export const stream = (presence: Presence): Operation =>
  operation(contract.hosts.stream, async (context, { headers, query }) => {
    const { actor } = context;
    const deviceId = headers['x-svc-device'];
    await serveAs(context.db, { actor, deviceId, takesOver: true });
    const { accountId, keyId } = actor;
    await presence.open({ ...query, accountId, deviceId, keyId }, () => context.openEvents(mostBytesOnTheWay));
  });
