import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { recordView } from '../../kernel/streams/feed.frames.ts';
import { topic } from './notes.view.ts';

const view = recordView(topic, 'note');

export const stream = operation(contract.notes.stream, (context, { query }) => context.follow(view, query));
