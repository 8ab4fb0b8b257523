import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import { checkServing } from './sessions.serving.ts';

export const append = (sessions: Sessions): Operation =>
  operation(contract.sessions.append, async (context, { headers, params, body }) => {
    const deviceId = headers['x-svc-device'];
    await checkServing(context, deviceId, params.id);
    const batch = { deviceId, expected: body.expected_seq, events: body.events };
    return { seq: await context.transaction((tx) => sessions.append(tx, context.actor.accountId, params.id, batch)) };
  });
