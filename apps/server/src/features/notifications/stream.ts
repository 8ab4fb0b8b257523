import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { recordOf } from '../../kernel/streams/feed.frames.ts';
import type { View } from '../../kernel/streams/feed.ts';
import { everyOne } from './notifications.notify.ts';

const view: View = {
  topics: new Set(['notifications']),
  frame(change) {
    const { op, cursor } = change;
    if (change.id !== everyOne) return { event: 'notification', json: withFields({ op, cursor }, recordOf(change)) };
    const { read_at: at } = JSON.parse(change.record ?? '{}') as { read_at?: string };
    return { event: 'read_all', json: JSON.stringify({ at: at ?? change.at, cursor }) };
  },
};

/** The fields of an object before those of a record. */
const withFields = (fields: object, record: string): string =>
  `${JSON.stringify(fields).slice(0, -1)},${record.slice(1)}`;

/** Changes of the account's inbox, from any gateway. */
export const stream = operation(contract.notifications.stream, (context, { query }) => context.follow(view, query));
