import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { type LiveFrames, transcriptView } from './transcripts.streams.ts';

export const stream = (frames: LiveFrames): Operation =>
  operation(contract.transcripts.stream, async (context, { query }) => {
    await context.follow(transcriptView, query);
    if (context.events) frames.follow(context.actor.accountId, context.events);
  });
