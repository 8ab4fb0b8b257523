import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { enter } from './environments.access.ts';
import { listEvents } from './environments.events.sql.ts';
import { toEvent } from './environments.view.ts';

export const events = operation(contract.environments.events, async (context, { params: { id }, query }) => {
  await enter(context.db, { accountId: context.actor.accountId, id, least: 'viewer' });
  const rows = await listEvents(context.db, id, query.limit + 1, query.cursor);
  const page = rows.slice(0, query.limit);
  const last = page.at(-1);
  return { events: page.map(toEvent), ...(rows.length > page.length && last && { next_cursor: String(last.id) }) };
});
