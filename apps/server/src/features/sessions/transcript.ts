import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';

export const transcript = (sessions: Sessions): Operation =>
  operation(contract.sessions.transcript, async ({ db, actor }, { params }) => {
    await sessions.get(db, actor.accountId, params.id);
    return sessions.transcript(db, params.id);
  });
