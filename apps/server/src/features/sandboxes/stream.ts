import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { recordView } from '../../kernel/streams/feed.frames.ts';
import { topic } from './sandboxes.view.ts';

const view = recordView(topic, 'sandbox');

/** Changes of the account's sandboxes, from any gateway. */
export const stream = operation(contract.sandboxes.stream, (context, { query }) => context.follow(view, query));
