import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { NoteStreams } from './notes.broadcast.ts';

export const stream = (streams: NoteStreams): Operation =>
  operation(contract.notes.stream, (context) => {
    streams.follow(context.actor.accountId, context.openEvents());
    return Promise.resolve();
  });
