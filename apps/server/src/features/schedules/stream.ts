import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { scheduleView } from './schedules.changes.ts';

/** Changes of the account's schedules and runs, from any gateway. */
export const stream = operation(contract.schedules.stream, (context, { query }) => context.follow(scheduleView, query));
