import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { recordView } from '../../kernel/streams/feed.frames.ts';

const view = recordView('prompts', 'prompt', (op) => op.replace(/d$/, ''));

/** Changes of the account's prompts, from any gateway. */
export const stream = operation(contract.prompts.stream, (context, { query }) => context.follow(view, query));
