import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { deleteProject, hasEnvironments } from './projects.sql.ts';
import { lockChanged } from './projects.store.ts';

export const remove = operation(contract.projects.remove, (context, { params }) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const row = await lockChanged(tx, accountId, params.id);
    if (await hasEnvironments(tx, row.id))
      throw new ApiError('project_has_environments', 'environments stand in this project; destroy them first');
    await deleteProject(tx, row.id);
    await writeAct(tx, {
      accountId,
      by: context.by,
      action: 'projects.remove',
      subject: row.id,
      details: { slug: row.slug },
    });
    return { deleted: true as const, id: row.id };
  }),
);
