import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Sessions } from './sessions.store.ts';
import { listEvents } from './sessions.sql.ts';
import { toEvent } from './sessions.view.ts';

export const events = (sessions: Sessions): Operation =>
  operation(contract.sessions.events, async ({ db, actor }, { params, query }) => {
    const { seq } = await sessions.get(db, actor.accountId, params.id);
    const rows = await listEvents(db, params.id, query);
    return { events: rows.map(toEvent), seq: Math.max(seq, rows.at(-1)?.seq ?? 0) };
  });
