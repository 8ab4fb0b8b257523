import { contract } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { toApiError } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { listWithSession } from './prompts.sql.ts';
import { promptStates } from './prompts.states.ts';
import { verifyPrompt, type VerifyParts } from './prompts.verify.ts';
import { toPrompt } from './prompts.view.ts';

/** Prompts of one call, and models that it asks at once. */
const most = 50;
const atOnce = 4;

/** Judges many prompts; one that fails is a result like the others. */
export const verifyAll = (parts: VerifyParts): Operation =>
  operation(contract.prompts.verifyAll, async (context, { body }) => {
    const page = { limit: most, cursor: body.cursor };
    const found = body.ids
      ? []
      : await listWithSession(context.db, context.actor.accountId, promptStates.where('active'), page);
    const { rows, next } = pageOf(found, most);
    const left = [...new Set(body.ids ?? rows.map(({ id }) => id))].entries();
    const results: Awaited<ReturnType<typeof one>>[] = [];
    const work = async (): Promise<void> => {
      for (const [at, id] of left) {
        if (context.signal.aborted) return;
        results[at] = await one(context, parts, id);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return { results, ...next };
  });

async function one(context: Context, parts: VerifyParts, id: string) {
  try {
    return { id, ok: true, prompt: toPrompt(await verifyPrompt(context, parts, id)) };
  } catch (error) {
    const { code, message } = toApiError(error);
    return { id, ok: false, error: { code, message } };
  }
}
