import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { orgRoleOf } from '../orgs/index.ts';
import { insertProject, projectsQuota } from './projects.sql.ts';
import { slugOf } from './projects.slug.ts';
import { toProject } from './projects.view.ts';

export const create = operation(contract.projects.create, (context, { body }) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const { org_id: orgId = null, slug = slugOf(body.name) } = body;
    if (orgId !== null) {
      const role = await orgRoleOf(tx, accountId, orgId);
      if (role === undefined) throw notFound('organisation');
      if (role === 'member')
        throw new ApiError('forbidden', 'only an owner or admin of the organisation may make projects in it');
    }
    await checkQuota(context.kernel.config, tx, projectsQuota, accountId);
    const row = await insertProject(tx, context.clock, {
      account_id: accountId,
      org_id: orgId,
      name: body.name,
      slug,
      repo_url: body.repo_url ?? null,
      default_branch: body.default_branch,
      devcontainer_path: body.devcontainer_path ?? null,
      isolation: body.isolation,
      settings: body.settings,
    });
    if (!row) throw new ApiError('slug_taken', `you have a project ${slug}; give this one another slug`);
    await writeAct(tx, {
      accountId,
      by: context.by,
      action: 'projects.create',
      subject: row.id,
      details: { slug, orgId },
    });
    return { project: toProject(row) };
  }),
);
