import type { Db } from '../../kernel/db/db.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { type Admin, type Commands, emailAddress } from '../../kernel/commands.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import { FeedWriter } from '../../kernel/streams/feed.writer.ts';
import { accountByEmail } from '../accounts/index.ts';
import { notify } from '../notifications/index.ts';
import { orgId } from './orgs.commands.ts';
import { deleteMember, findHeir, findOrgName, lockOrg, membersOf } from './orgs.sql.ts';

/** Who is taken out of an organisation. */
interface Leaver {
  orgId: string;
  accountId: string;
  /** The owner of the organisation who gets what is the organisation's and was made by who leaves. */
  heir: string;
}

/** What other features do when somebody is taken out of an organisation. */
export interface OrgRemoval {
  /** Ends the roles in its environments. Answers their slugs, and those where nobody else would own it. */
  leaveEnvironments: (admin: Admin, tx: Db, leaver: Leaver) => Promise<{ left: string[]; kept: string[] }>;
  /** Gives the projects that they made in it to the heir; answers how many. */
  passOnProjects: (tx: Db, leaver: Leaver) => Promise<number>;
}

/** `svc orgs remove`, beside the other commands of organisations. */
export const orgRemovalCommands =
  (parts: OrgRemoval): Commands =>
  (program, run) => {
    const orgs = program.commands.find((command) => command.name() === 'orgs') ?? program.command('orgs');
    orgs
      .command('remove')
      .description(
        'take a member out: their rights by the organisation end at once, their roles in its environments too',
      )
      .requiredOption('--org <id>', 'organisation, as `svc orgs list` shows it', orgId)
      .requiredOption('--email <address>', "the member's e-mail address", emailAddress)
      .action(run((admin: Admin, options: { org: string; email: string }) => removeMember(admin, parts, options)));
  };

async function removeMember(admin: Admin, parts: OrgRemoval, { org, email }: { org: string; email: string }) {
  const account = await accountByEmail(admin, email);
  return inTransaction(admin.sql, async (tx) => {
    if (!(await lockOrg(tx, org))) throw new CommandError('no such organisation');
    const heir = await heirOf(tx, org, account);
    await deleteMember(tx, org, account.id);
    const leaver = { orgId: org, accountId: account.id, heir };
    const { left, kept } = await parts.leaveEnvironments(admin, tx, leaver);
    const projects = await parts.passOnProjects(tx, leaver);
    const details = { email: account.email, environments: left.length, kept: kept.length, projects };
    await writeAct(tx, { accountId: account.id, by: byCommand, action: 'orgs.remove', subject: org, details });
    await tellRemoved(admin, tx, account.id, org);
    return {
      org_id: org,
      account_id: account.id,
      left_environments: left,
      ...(kept.length > 0 && { still_owns: kept }),
      projects_passed_on: projects,
    };
  });
}

/** Who is given what the member leaves. Throws where they are no member, or no other owner may sign in. */
async function heirOf(tx: Db, org: string, { id, email }: { id: string; email: string }): Promise<string> {
  const members = await membersOf(tx, org);
  if (!members.some(({ account_id: of }) => of === id))
    throw new CommandError(`${email} is no member of this organisation`);
  const heir = await findHeir(tx, org, id);
  if (heir === undefined)
    throw new CommandError('an organisation needs an owner who can sign in; add another one first');
  return heir;
}

async function tellRemoved(admin: Admin, tx: Db, accountId: string, org: string): Promise<void> {
  const kernel = { ...admin, feed: new FeedWriter(admin) };
  const name = (await findOrgName(tx, org)) ?? '';
  const { iso } = await readNow(tx, admin.clock);
  await notify(kernel, tx, {
    accountId,
    type: 'org.removed',
    severity: 'warning',
    dedupeKey: `org.removed:${org}:${iso}`,
    says: ({ orgs }) => ({ title: orgs.removed(name), body: orgs.removedText }),
    data: { org_id: org },
  });
}
