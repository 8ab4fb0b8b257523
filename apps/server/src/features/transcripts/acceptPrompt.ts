import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import type { AcceptsPrompts } from './transcripts.accept.ts';

export const acceptPrompt = (accepts: AcceptsPrompts): Operation =>
  operation(contract.transcripts.acceptPrompt, async (context, { params }) => {
    const { accountId, keyId } = context.actor;
    const kept = await context.transaction((tx) =>
      accepts.accept(tx, { accountId, keyId, id: params.id, index: params.index }),
    );
    if (!kept) throw notFound('suggested prompt');
    return new Answer(kept, { status: kept.created ? 201 : 200 });
  });
