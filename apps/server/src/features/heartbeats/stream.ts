import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { recordView } from '../../kernel/streams/feed.frames.ts';
import { topic } from './heartbeats.changes.ts';

const view = recordView(topic, 'heartbeat');

/** Changes of the account's monitors, from any gateway. */
export const stream = operation(contract.heartbeats.stream, (context, { query }) => context.follow(view, query));
