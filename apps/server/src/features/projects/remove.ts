import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { printable } from '../../kernel/base/text.ts';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { deleteProject, environmentsIn } from './projects.sql.ts';
import { lockChanged } from './projects.store.ts';

/** Owners whom the refusal names. */
const mostNamed = 5;

/** What keeps a project, whose it is, and what whoever owns the project can do about it. */
function whatStands(standing: Awaited<ReturnType<typeof environmentsIn>>): string {
  const all = standing.reduce((sum, { total }) => sum + total, 0);
  const own = standing.reduce((sum, one) => sum + one.own, 0);
  const others = standing.filter((one) => one.total > one.own);
  const named = others.slice(0, mostNamed).map((one) => `${one.total - one.own} of ${printable(one.email)}`);
  if (others.length > mostNamed) named.push(`those of ${others.length - mostNamed} more`);
  return [
    `${all} ${all === 1 ? 'environment stands' : 'environments stand'} in this project`,
    own > 0 && `you own ${own}: destroy ${own === 1 ? 'it' : 'them'} first`,
    named.length > 0 &&
      `you do not own ${named.join(', ')}: ask who has them to destroy them, or to make you an owner there`,
  ]
    .filter(Boolean)
    .join('; ');
}

export const remove = operation(contract.projects.remove, (context, { params }) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const row = await lockChanged(tx, accountId, params.id);
    const standing = await environmentsIn(tx, accountId, row.id);
    if (standing.length > 0) throw new ApiError('project_has_environments', whatStands(standing));
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
