import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { changeProject, type ProjectChange } from './projects.sql.ts';
import { lockChanged } from './projects.store.ts';
import { toProject } from './projects.view.ts';

export const update = operation(contract.projects.update, (context, { params, body }) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const row = await lockChanged(tx, accountId, params.id);
    const { name, isolation, repo_url, default_branch, devcontainer_path, settings } = body;
    const change: ProjectChange = {
      ...(name !== undefined && { name }),
      ...(isolation !== undefined && { isolation: isolation ?? 'shared_vm' }),
      ...(repo_url !== undefined && { repo_url }),
      ...(devcontainer_path !== undefined && { devcontainer_path }),
      ...(default_branch !== undefined && { default_branch: default_branch ?? 'main' }),
      ...(settings !== undefined && { settings: settings ?? {} }),
    };
    const changed = await changeProject(tx, context.clock, row.id, change);
    await writeAct(tx, {
      accountId,
      by: context.by,
      action: 'projects.update',
      subject: row.id,
      details: { fields: Object.keys(change) },
    });
    return { project: toProject(changed) };
  }),
);
