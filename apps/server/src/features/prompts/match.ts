import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.store.ts';
import { toPrompt } from './prompts.view.ts';

export const match = (prompts: Prompts): Operation =>
  operation(contract.prompts.match, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const row = await prompts.lock(tx, context.actor.accountId, params.id);
      const turn = { ref: body.match_ref, turnId: body.match_turn_id };
      return { prompt: toPrompt(await prompts.match(tx, row, turn)) };
    }),
  );
