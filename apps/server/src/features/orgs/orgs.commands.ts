import { uuid } from '@svc/contract';
import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import { type Admin, type Commands, emailAddress, oneOf } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { vouchedAccount, defaultAccount } from '../accounts/index.ts';
import {
  countOwners,
  findOrgName,
  insertOrg,
  listOrgs,
  lockOrg,
  membersOf,
  type OrgRole,
  orgRoles,
  setMember,
} from './orgs.sql.ts';

/** `svc orgs …` (launch contract, Admin commands). */
export const orgsCommands: Commands = (program, run) => {
  const orgs = program.command('orgs').description('organisations and their members');
  orgs
    .command('create')
    .description('create an organisation with its first owner')
    .requiredOption('--name <name>', 'name')
    .option('--owner <address>', `the owner's e-mail address; ${defaultAccount}`, emailAddress)
    .action(run(createOrg));
  orgs
    .command('add')
    .description('add a member, or change its role')
    .requiredOption('--org <id>', 'organisation', orgId)
    .option('--email <address>', `the member's e-mail address; ${defaultAccount}`, emailAddress)
    .requiredOption('--role <role>', orgRoles.join(', '), oneOf(orgRoles))
    .action(run(addMember));
  orgs
    .command('list')
    .description('every organisation')
    .action(
      run(async (admin: Admin) => (await listOrgs(admin.sql)).map(({ id, ...rest }) => ({ org_id: id, ...rest }))),
    );
  orgs
    .command('show')
    .description('the members of an organisation, with their roles')
    .requiredOption('--org <id>', 'organisation, as `svc orgs list` shows it', orgId)
    .action(run(showOrg));
};

/** Parses the id of an organisation. */
export function orgId(value: string): string {
  if (!uuid.safeParse(value).success) throw new CommandError('--org must be a uuid; see: svc orgs list');
  return value.toLowerCase();
}

async function showOrg(admin: Admin, { org }: { org: string }) {
  if ((await findOrgName(admin.sql, org)) === undefined) throw new CommandError('no such organisation');
  return membersOf(admin.sql, org);
}

async function createOrg(admin: Admin, options: { name: string; owner?: string }) {
  if (options.name.trim() === '') throw new CommandError('--name must not be empty');
  const owner = await vouchedAccount(admin, options.owner, '--owner');
  const made = await inTransaction(admin.sql, async (tx) => {
    const id = await insertOrg(tx, options.name);
    await setMember(tx, id, owner.id, 'owner');
    const details = { name: options.name };
    await writeAct(tx, { accountId: owner.id, by: byCommand, action: 'orgs.create', subject: id, details });
    return id;
  });
  return { org_id: made, name: options.name, owner: owner.email };
}

async function addMember(admin: Admin, options: { org: string; email?: string; role: OrgRole }) {
  const account = await vouchedAccount(admin, options.email);
  await inTransaction(admin.sql, async (tx) => {
    if (!(await lockOrg(tx, options.org))) throw new CommandError('no such organisation');
    await setMember(tx, options.org, account.id, options.role);
    if ((await countOwners(tx, options.org)) === 0) {
      throw new CommandError('an organisation needs an owner; add another one first');
    }
    const act = { action: 'orgs.add', subject: options.org, details: { role: options.role } };
    await writeAct(tx, { accountId: account.id, by: byCommand, ...act });
  });
  return { org_id: options.org, account_id: account.id, role: options.role };
}
