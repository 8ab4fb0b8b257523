import { contract } from '@svc/contract';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.store.ts';
import { toPrompt } from './prompts.view.ts';

export const create = (prompts: Prompts): Operation =>
  operation(contract.prompts.create, (context, { body }) =>
    context.transaction(async (tx) => {
      const { created, row } = await prompts.create(tx, context.actor.accountId, {
        prompt: body.prompt,
        source: body.source,
        goalKey: body.goal_key,
        notBefore: body.not_before,
        autoRun: body.auto_run,
        target: body.target_device_id,
        keyId: context.actor.keyId,
      });
      return new Answer({ created, id: row.id, prompt: toPrompt(row) }, { status: created ? 201 : 200 });
    }),
  );
