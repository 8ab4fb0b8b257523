import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.store.ts';
import { toPrompt } from './prompts.view.ts';

export const get = (prompts: Prompts): Operation =>
  operation(contract.prompts.get, async ({ db, actor }, { params }) => ({
    prompt: toPrompt(await prompts.get(db, actor.accountId, params.id)),
  }));
