import { contract } from '@svc/contract';
import type { z } from 'zod';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import type { Db, Time } from '../../kernel/db/db.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { type Budget, takeBudget } from '../../kernel/share/budgets.ts';
import { rateLimitExceeded } from '../../kernel/share/limits.ts';
import { findEmail } from '../accounts/index.ts';
import { Projects, type SeenProject } from '../projects/index.ts';
import { doerOf } from './environments.doer.ts';
import { type MachineProviders, managedColumns } from './environments.machines.ts';
import { firstState } from './environments.moves.ts';
import type { EnvironmentRow } from './environments.rows.ts';
import { freshSlug, isReserved } from './environments.slug.ts';
import { environmentsQuota, insertEnvironment, type NewEnvironment } from './environments.sql.ts';
import { checkOnlyOne, type Environments } from './environments.store.ts';
import { toEnvironment } from './environments.view.ts';
import { checkHour } from './hours/hours.ts';
import { join } from './people/members.ts';

/** Columns of a machine of one's own that only one at a provider has. */
const noMachine = { region: null, size: null, hourly_rate_micro_eur: null, metadata: {} };

type Body = z.output<typeof contract.environments.create.takes.schema>;
/** Each is told to the project's owner, and its end, who did not ask for it. */
const inProjectsOfOthers: Budget = { name: 'environments_in_others', most: 20, perMinute: 20 };
/** A fresh slug that is taken is drawn anew so often: 31^4 are there for each project. */
const mostDraws = 5;

export const create = (environments: Environments, providers: MachineProviders): Operation =>
  operation(contract.environments.create, (context, { body }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const project = await Projects.hold(tx, accountId, body.project_id);
      const { provider } = body;
      const managed = provider === 'byo' ? undefined : managedColumns(providers, { ...body, provider });
      if (managed)
        await checkHour(tx, context.kernel.config, await readNow(tx, context.clock), {
          ...managed,
          account_id: accountId,
        });
      const email = (await findEmail(tx, accountId)) ?? '';
      await checkQuota(context.kernel.config, tx, environmentsQuota, accountId);
      const isOwnOnly = project.isolation === 'vm_per_dev';
      if (isOwnOnly) await checkOnlyOne(tx, { project_id: project.id, for_account_id: accountId });
      const row = await insert(tx, context.clock, body, {
        account_id: accountId,
        project_id: project.id,
        org_id: project.org_id,
        for_account_id: isOwnOnly ? accountId : null,
        isolation: project.isolation,
        name: body.name ?? nameFor(project, email),
        slug: project.slug,
        provider,
        state: managed ? firstState.managed : firstState.own,
        idle_timeout_minutes: body.idle_timeout_minutes,
        ...(managed ?? noMachine),
      });
      await join(tx, context.clock, row, { accountId, email, role: 'owner' });
      await joinOwner(tx, context.clock, row, project);
      await environments.tell(tx, row, doerOf(context), {
        kind: 'created',
        payload: { provider: row.provider, state: row.state, slug: row.slug },
      });
      return { environment: toEnvironment(row) };
    }),
  );

/**
 * Whoever owns a project owns what others make in it too: else it could be neither seen nor taken away. It does not
 * become theirs to pay unless they agree to that.
 */
async function joinOwner(tx: Db, time: Time, row: EnvironmentRow, project: SeenProject): Promise<void> {
  const { account_id: accountId, org_id: orgId, isolation } = project;
  if (accountId === row.account_id || orgId !== null || isolation === 'vm_per_dev') return;
  const { name, most: limit } = inProjectsOfOthers;
  if (!(await takeBudget(tx, time, inProjectsOfOthers, row.account_id)))
    throw rateLimitExceeded(name, { allowed: false, limit, remaining: 0, resetSeconds: 3 });
  await join(tx, time, row, {
    accountId,
    email: (await findEmail(tx, accountId)) ?? '',
    role: 'owner',
    isUnasked: true,
  });
}

/** "Shop — ana" of a project with a machine for each developer. Throws 400 for any other that is given no name. */
function nameFor({ name, isolation }: SeenProject, email: string): string {
  if (isolation !== 'vm_per_dev') throw badRequest('name: is required', { name: ['is required'] });
  const end = ` — ${email.split('@', 1).join('')}`;
  return name.slice(0, 120 - end.length) + end;
}

async function insert(tx: Db, time: Time, { slug }: Body, one: NewEnvironment): Promise<EnvironmentRow> {
  if (slug !== undefined) {
    const row = isReserved(slug) ? undefined : await insertEnvironment(tx, time, { ...one, slug });
    if (row) return row;
    throw new ApiError('slug_taken', `the slug ${slug} is taken; give another one, or none`);
  }
  for (let draw = 0; draw < mostDraws; draw += 1) {
    const row = await insertEnvironment(tx, time, { ...one, slug: freshSlug(one.slug) });
    if (row) return row;
  }
  throw new ApiError('slug_taken', 'no free slug was found; give one');
}
