import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.store.ts';
import { toPrompt } from './prompts.view.ts';

/** Changes a prompt; all of what is asked for, or nothing. */
export const update = (prompts: Prompts): Operation =>
  operation(contract.prompts.update, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const { not_before: notBefore, status, target_device_id: target, stop } = body;
      const autoRun = body.auto_run === null ? false : body.auto_run;
      const { keyId } = context.actor;
      let row = await prompts.lock(tx, context.actor.accountId, params.id);
      if (autoRun !== undefined || target !== undefined)
        row = await prompts.rearrange(tx, row, { autoRun, target, keyId });
      if (notBefore !== undefined) row = await prompts.snooze(tx, row, notBefore, keyId);
      if (status !== undefined) row = await prompts.mark(tx, row, status, { stop });
      if (status === 'done' || status === 'dismissed') {
        const act = { accountId: row.account_id, by: context.by, action: 'prompts.update', subject: row.id };
        await writeAct(tx, { ...act, details: { status, stop } });
      }
      return { prompt: toPrompt(row) };
    }),
  );
