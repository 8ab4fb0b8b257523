import { toolLevels } from '@svc/contract';
import { type CredentialChange, credentialsChanged } from '../../kernel/http/access.ts';
import { type Admin, CommandError, type Commands, emailAddress, oneOf } from '../../kernel/commands.ts';
import { type AccountChange, findAccountByEmail, insertAccount, updateAccount } from './accounts.sql.ts';

/** `svc accounts …` (launch contract, Admin commands). */
export const accountsCommands: Commands = (program, run) => {
  const accounts = program.command('accounts').description('people who use this installation');
  accounts
    .command('create')
    .description('create an account')
    .requiredOption('--email <address>', 'e-mail address', emailAddress)
    .option('--name <name>', 'name', '')
    .action(run(createAccount));
  accounts
    .command('set')
    .description('change an account; takes effect on the next request')
    .requiredOption('--email <address>', 'e-mail address', emailAddress)
    .option('--subscription <state>', 'active or inactive', oneOf(['active', 'inactive']))
    .option('--feature <name=on|off>', 'turn a feature on or off; may be repeated', collectFeature, {})
    .option('--tool-level <level>', `tool level of keys that name none: ${toolLevels.join(', ')}`, oneOf(toolLevels))
    .action(run(setAccount));
};

async function createAccount(admin: Admin, options: { email: string; name: string }) {
  const account = await insertAccount(admin.sql, options);
  if (!account) throw new CommandError(`an account with the address ${options.email} exists`);
  return { account_id: account.id, email: account.email };
}

async function setAccount(
  admin: Admin,
  options: { email: string; feature: Record<string, boolean> } & {
    subscription?: AccountChange['subscription'];
    toolLevel?: AccountChange['tool_level'];
  },
) {
  const account = await accountByEmail(admin, options.email);
  const changed = await updateAccount(admin.sql, account.id, {
    features: options.feature,
    ...(options.subscription && { subscription: options.subscription }),
    ...(options.toolLevel && { tool_level: options.toolLevel }),
  });
  await admin.gateways.announce(credentialsChanged, { accountId: account.id } satisfies CredentialChange);
  const { id, email, subscription, features, tool_level } = changed;
  return { account_id: id, email, subscription, features, tool_level };
}

/** The account with this address; fails with what to do when there is none. */
export async function accountByEmail(admin: Pick<Admin, 'sql'>, email: string) {
  const account = await findAccountByEmail(admin.sql, email);
  if (!account) throw new CommandError(`no account has the address ${email}; create it with: svc accounts create`);
  return account;
}

function collectFeature(value: string, previous: Record<string, boolean>): Record<string, boolean> {
  const match = /^([a-z][a-z0-9_-]{0,39})=(on|off)$/.exec(value);
  if (!match?.[1]) throw new CommandError(`"${value}" must look like transcripts=on or transcripts=off`);
  return { ...previous, [match[1]]: match[2] === 'on' };
}
