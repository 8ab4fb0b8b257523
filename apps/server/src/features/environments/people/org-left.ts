import { createMetrics } from '../../../kernel/base/metrics.ts';
import type { Admin } from '../../../kernel/commands.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { readNow } from '../../../kernel/db/instant.ts';
import { byCommand } from '../../../kernel/records/audit.ts';
import { noteGone } from '../../../kernel/records/let-in.ts';
import { FeedWriter } from '../../../kernel/streams/feed.writer.ts';
import type { EnvironmentRow, MemberRow } from '../environments.rows.ts';
import { lockEnvironment, lockOfOrg } from '../environments.sql.ts';
import { type Doer, Environments } from '../environments.store.ts';
import { dropSent, withdrawInvitation } from './invitations.sql.ts';
import { isAgreedOwner, peopleOf } from './members.ts';
import { deleteMember, noteRemoved } from './members.sql.ts';
import { resolveInvited } from './notify.ts';
import { closePortsOf } from './ports.ts';
import { passOnTold } from './pass-on.ts';

/**
 * Ends the roles of an account in the environments of an organisation that it was taken out of, and invitations into them. It
 * stays where nobody else has agreed to own the environment: it is theirs, and who did not agree pays for none. Answers the
 * slugs of both. All environments of the organisation are locked: who adds a colleague meanwhile comes before or after it.
 */
export async function leaveEnvironments(
  admin: Admin,
  tx: Db,
  { orgId, accountId }: { orgId: string; accountId: string },
): Promise<{ left: string[]; kept: string[] }> {
  const kernel = { ...admin, feed: new FeedWriter(admin), metrics: createMetrics() };
  const environments = new Environments(kernel);
  const done = { left: [] as string[], kept: [] as string[] };
  for (const id of await lockOfOrg(tx, orgId)) {
    const row = await lockEnvironment(tx, id);
    const people = row ? await peopleOf(tx, admin.clock, id) : [];
    const person = people.find(({ account_id: of }) => of === accountId);
    if (!row || !person) continue;
    if (isAgreedOwner(person) && people.filter(isAgreedOwner).length === 1) {
      done.kept.push(row.slug);
      continue;
    }
    await takeOut({ ...kernel, environments }, tx, row, person);
    done.left.push(row.slug);
  }
  return done;
}

type Parts = Parameters<typeof passOnTold>[0] & { environments: Environments };

async function takeOut(kernel: Parts, tx: Db, row: EnvironmentRow, person: MemberRow): Promise<void> {
  const { account_id: accountId, role, accepted_at: acceptedAt } = person;
  const { id } = row;
  const doer: Doer = { accountId: null, kind: 'system', by: byCommand };
  const payload = { user_id: accountId, role, reason: 'left_org' };
  await noteGone(tx, ['member', 'role', 'ssh_key'], `${id}/${accountId}`);
  const withdrawn = await withdrawInvitation(tx, kernel.clock, id, accountId);
  if (acceptedAt === null) {
    const by = withdrawn?.invited_by ?? null;
    await resolveInvited(kernel, tx, { accountId, by, resolution: 'removed' });
    return kernel.environments.tell(tx, row, doer, { kind: 'invitation_withdrawn', payload });
  }
  await noteGone(tx, ['member', 'role', 'port'], `${id}/`, { accountId });
  await deleteMember(tx, id, accountId);
  await noteRemoved(tx, (await readNow(tx, kernel.clock)).iso, id, accountId);
  await dropSent(tx, accountId, id);
  if (accountId === row.account_id) await passOnTold(kernel, tx, accountId, row);
  await closePortsOf(tx, kernel.environments, row, { accountId, role: null, doer });
  await kernel.environments.tell(tx, row, doer, { kind: 'member_removed', payload });
}
