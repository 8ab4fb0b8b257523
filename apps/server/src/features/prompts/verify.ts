import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { verifyPrompt, type VerifyParts } from './prompts.verify.ts';
import { toPrompt } from './prompts.view.ts';

export const verify = (parts: VerifyParts): Operation =>
  operation(contract.prompts.verify, async (context, { params, body }) => ({
    prompt: toPrompt(await verifyPrompt(context, parts, params.id, body)),
  }));
