import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.store.ts';

export const remove = (prompts: Prompts): Operation =>
  operation(contract.prompts.remove, (context, { params: { id }, query }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const stop = query.stop === 'true';
      await prompts.remove(tx, accountId, id, { stop });
      await writeAct(tx, { accountId, by: context.by, action: 'prompts.remove', subject: id, details: { stop } });
      return { deleted: true as const, id };
    }),
  );
