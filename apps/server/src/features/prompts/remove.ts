import { contract } from '@svc/contract';
import { notFound } from '../../kernel/http/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.book.ts';
import { deletePrompt } from './prompts.sql.ts';

export const remove = ({ streams }: Prompts): Operation =>
  operation(contract.prompts.remove, (context, { params: { id } }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      if (!(await deletePrompt(tx, accountId, id))) throw notFound('prompt');
      await streams.publish(tx, { accountId, id, op: 'delete' });
      return { deleted: true as const, id };
    }),
  );
