import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.book.ts';
import { checkServing } from './sessions.serving.ts';

/** Controls for the calling device. */
export const stream = ({ streams }: Sessions): Operation =>
  operation(contract.sessions.stream, async (context, { headers }) => {
    const deviceId = headers['x-svc-device'];
    await checkServing(context, deviceId);
    await streams.followDevice(context.actor.accountId, deviceId, context.openEvents());
  });
