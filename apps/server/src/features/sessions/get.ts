import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { hasScope } from '../../kernel/mount/access.ts';
import { badRequest } from '../../kernel/base/errors.ts';
import type { Sessions } from './sessions.store.ts';
import { checkServing } from './sessions.serving.ts';
import { toSession } from './sessions.view.ts';

export const get = (sessions: Sessions): Operation =>
  operation(contract.sessions.get, async (context, { params }) => {
    const { actor, db, deviceId } = context;
    if (!hasScope(actor.scopes, ['sessions', 'sessions:read'])) {
      if (deviceId === undefined) throw badRequest('x-svc-device is required for a key that may only serve');
      await checkServing(context, deviceId, params.id);
    }
    return toSession(await sessions.get(db, actor.accountId, params.id));
  });
