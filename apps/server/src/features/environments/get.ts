import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { enter } from './environments.access.ts';
import { listEvents } from './environments.events.sql.ts';
import { toEnvironment, toEvent, toMember, toPort } from './environments.view.ts';
import { peopleOf } from './people/members.ts';
import { portsOf } from './people/ports.sql.ts';

/** Events beside a record. */
const shownEvents = 20;

export const get = operation(contract.environments.get, async (context, { params: { id } }) => {
  const row = await enter(context.db, { accountId: context.actor.accountId, id, least: 'viewer' });
  const [members, ports, events] = await Promise.all([
    peopleOf(context.db, context.clock, id),
    portsOf(context.db, id),
    listEvents(context.db, id, shownEvents),
  ]);
  return {
    environment: toEnvironment(row),
    isolation: row.isolation,
    role: row.role,
    user_id: context.actor.accountId,
    members: members.map(toMember),
    ports: ports.map(toPort),
    events: events.map(toEvent),
  };
});
