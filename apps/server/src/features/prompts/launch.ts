import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.book.ts';
import { toPrompt } from './prompts.view.ts';

export const launch = (prompts: Prompts): Operation =>
  operation(contract.prompts.launch, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const row = await prompts.lock(tx, context.actor.accountId, params.id);
      return { prompt: toPrompt(await prompts.launch(tx, row, body.target_device_id)) };
    }),
  );
