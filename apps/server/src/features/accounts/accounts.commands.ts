import { type ToolLevel, toolLevels, uuid } from '@svc/contract';
import { Option } from 'commander';
import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import { type Admin, type Commands, emailAddress, newEmailAddress, oneOf } from '../../kernel/commands.ts';
import { printable } from '../../kernel/base/text.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { type QuotaName, quotaNames } from '../../config.quotas.ts';
import { setQuota } from '../../kernel/records/quotas.ts';
import {
  type AccountChange,
  type AccountRow,
  findAccountByEmail,
  insertAccount,
  isLeaving,
  listAccounts,
  someAccounts,
  updateAccount,
  updateEmail,
} from './accounts.sql.ts';
import { type AddressClaims, claimAddress } from './accounts.claims.ts';
import { hasUnprovedAddress } from './accounts.claims.sql.ts';
import { changeStanding } from './accounts.people.ts';
import { isOperator } from './accounts.people.sql.ts';

/** `svc accounts …` (launch contract, Admin commands). */
export const accountsCommands =
  (claimsOf: (admin: Admin) => AddressClaims): Commands =>
  (program, run) => {
    const accounts = program.command('accounts').description('people who use this installation');
    accounts
      .command('create')
      .description('create an account')
      .requiredOption('--email <address>', 'e-mail address', newEmailAddress)
      .option('--name <name>', 'name', '')
      .addOption(levelOption())
      .action(run((admin: Admin, options: Created) => createAccount(admin, claimsOf(admin), options)));
    accounts
      .command('set')
      .description('change an account; takes effect on the next request')
      .option('--email <address>', `e-mail address; ${defaultAccount}`, emailAddress)
      .addOption(idOption())
      .option('--new-email <address>', 'another e-mail address for it', newEmailAddress)
      .option('--subscription <state>', 'active or inactive', oneOf(['active', 'inactive']))
      .option('--operator <state>', 'on: its person runs this installation; off', oneOf(['on', 'off']))
      .option('--feature <name=on|off>', 'turn a feature on or off; may be repeated', collectFeature, {})
      .option('--tool-level <level>', `tool level of keys that name none: ${toolLevels.join(', ')}`, oneOf(toolLevels))
      .action(run((admin: Admin, options: SetOptions) => setAccount(admin, claimsOf(admin), options)));
    for (const [verb, suspended, description] of [
      [
        'suspend',
        true,
        'stop everything of an account within seconds, and refuse its keys; idle v2 sandboxes are paused, all others end with their files',
      ],
      ['resume', false, 'let a suspended account go on'],
    ] as const) {
      accounts
        .command(verb)
        .description(description)
        .option('--email <address>', 'e-mail address', emailAddress)
        .addOption(idOption())
        .action(run((admin: Admin, which: Which) => suspendAccount(admin, which, suspended)));
    }
    accounts
      .command('quota')
      .description('give an account a limit of its own, in place of that of the installation')
      .option('--email <address>', `e-mail address; ${defaultAccount}`, emailAddress)
      .requiredOption('--name <name>', `what is limited: ${quotaNames.join(', ')}`, oneOf(quotaNames))
      .requiredOption('--limit <count>', 'how many it may have; `default`: what the installation allows', limitOf)
      .action(run(setAccountQuota));
    accounts
      .command('list')
      .description('every account')
      .action(run(async (admin: Admin) => (await listAccounts(admin.sql)).map(toRecord)));
    accounts
      .command('show')
      .description('one account')
      .option('--email <address>', `e-mail address; ${defaultAccount}`, emailAddress)
      .action(run(async (admin: Admin, { email }: { email?: string }) => toRecord(await accountByEmail(admin, email))));
  };

/** Writes a line of the audit log. */
const write = (tx: Db, verb: string, accountId: string, details?: object): Promise<void> =>
  writeAct(tx, { accountId, by: byCommand, action: `accounts.${verb}`, subject: accountId, details });

const toRecord = ({ id, ...rest }: AccountRow) => ({ account_id: id, ...rest });

/** `--id` of commands that take an account by its address, too. */
export const idOption = (): Option =>
  new Option('--id <id>', 'id of the account, as `svc accounts list` shows it, in place of the address').argParser(
    accountId,
  );

/** An account by its address or by its id. */
export interface Which {
  email?: string;
  id?: string;
}

/** Parses the id of an account. */
function accountId(value: string): string {
  if (!uuid.safeParse(value).success) throw new CommandError(`"${printable(value)}" is no id of an account`);
  return value.toLowerCase();
}

/** The account that a command names by exactly one of both. */
export async function accountOf(admin: Admin, { email, id }: Which): Promise<AccountRow> {
  if ((email === undefined) === (id === undefined)) throw new CommandError('name the account: --email or --id');
  if (email !== undefined) return accountByEmail(admin, email);
  const account = (await listAccounts(admin.sql)).find((one) => one.id === id);
  if (!account) throw new CommandError(`there is no account ${id}`);
  return account;
}

async function suspendAccount(admin: Admin, which: Which, suspended: boolean) {
  // To let an account go on is to give.
  const isByAddress = !suspended && which.email !== undefined && which.id === undefined;
  const account = isByAddress ? await vouchedAccount(admin, which.email) : await accountOf(admin, which);
  if (await isLeaving(admin.sql, account.id)) {
    throw new CommandError('this account is being deleted; finish it with: svc accounts delete');
  }
  await changeByCommand(admin, { id: account.id, suspended });
  return toRecord(await accountOf(admin, which));
}

/** As `PATCH /v1/accounts/{id}` does. */
async function changeByCommand(admin: Admin, change: { id: string; suspended?: boolean; operator?: boolean }) {
  try {
    await changeStanding(admin, { ...change, by: byCommand });
  } catch (error) {
    throw error instanceof ApiError ? new CommandError(error.message) : error;
  }
}

async function setAccountQuota(
  admin: Admin,
  { email, name, limit }: { email?: string; name: QuotaName; limit: number | 'default' },
) {
  const { id } = await vouchedAccount(admin, email);
  await inTransaction(admin.sql, async (tx) => {
    await setQuota(tx, id, name, limit === 'default' ? null : limit);
    await write(tx, 'quota', id, { name, limit });
  });
  return { account_id: id, name, limit };
}

function limitOf(value: string): number | 'default' {
  if (value === 'default') return value;
  if (!/^\d{1,9}$/.test(value)) throw new CommandError(`"${value}" must be a whole number, or default`);
  return Number(value);
}

interface Created {
  email: string;
  name: string;
  toolLevel: ToolLevel;
}

async function createAccount(admin: Admin, claims: AddressClaims, options: Created) {
  return inTransaction(admin.sql, async (tx) => {
    const taken = await claimAddress(tx, claims, { email: options.email, by: byCommand });
    const account = await insertAccount(tx, options);
    if (!account) throw new CommandError(`an account with the address ${options.email} exists`);
    await write(tx, 'create', account.id, { email: account.email, ...taken });
    return { account_id: account.id, email: account.email };
  });
}

interface SetOptions extends Which {
  newEmail?: string;
  feature: Record<string, boolean>;
  subscription?: AccountChange['subscription'];
  toolLevel?: AccountChange['tool_level'];
  operator?: 'on' | 'off';
}

async function setAccount(admin: Admin, claims: AddressClaims, options: SetOptions) {
  const { newEmail, feature, subscription: state, toolLevel } = options;
  const isMore = options.operator === 'on' || toolLevel !== undefined || state === 'active';
  const gives = isMore || Object.values(feature).includes(true);
  const byAddress = gives ? vouchedAccount : accountByEmail;
  const account = options.id === undefined ? await byAddress(admin, options.email) : await accountOf(admin, options);
  if (options.operator) await changeByCommand(admin, { id: account.id, operator: options.operator === 'on' });
  const changed = await inTransaction(admin.sql, async (tx) => {
    const claim = { email: newEmail ?? '', accountId: account.id, by: byCommand };
    const taken = newEmail === undefined ? {} : await claimAddress(tx, claims, claim);
    if (newEmail !== undefined && !(await updateEmail(tx, account.id, newEmail))) {
      throw new CommandError(`another account has the address ${newEmail}`);
    }
    const change = {
      ...(Object.keys(feature).length > 0 && { features: feature }),
      ...(state && { subscription: state }),
      ...(toolLevel && { tool_level: toolLevel }),
    };
    const address = newEmail !== undefined && { email: newEmail, email_before: account.email, ...taken };
    await write(tx, 'set', account.id, { ...change, ...address });
    return updateAccount(tx, account.id, change);
  });
  await admin.gateways.announce(credentialsChanged, { accountId: account.id } satisfies CredentialChange);
  const { id, email, subscription, features, tool_level } = changed;
  const operator = await isOperator(admin.sql, id);
  return { account_id: id, email, subscription, features, tool_level, operator };
}

/** `--tool-level` of commands that make an account. */
export const levelOption = (): Option =>
  new Option('--tool-level <level>', 'l3_sandbox: its person may use sandboxes').choices(toolLevels).default('l0');

/** The help text for the default of `--email`. */
export const defaultAccount = 'default: the only account';

/** The account with this address, or the only one; fails with the next step, which names `option`, when no account fits. */
export async function accountByEmail(
  admin: Pick<Admin, 'sql'>,
  email: string | undefined,
  option = '--email',
): Promise<AccountRow> {
  if (email === undefined) {
    const [only, another] = await someAccounts(admin.sql, 2);
    if (!only) throw new CommandError('there is no account yet; create one with: svc accounts create');
    if (another) throw new CommandError(`there are several accounts; name one with ${option} (see: svc accounts list)`);
    return only;
  }
  const account = await findAccountByEmail(admin.sql, email);
  if (!account) throw new CommandError(`no account has the address ${email}; create it with: svc accounts create`);
  return account;
}

/**
 * The same for a command that gives something to the person of the address. Fails for one that the account gave to itself: it may
 * be another person's.
 */
export async function vouchedAccount(
  admin: Pick<Admin, 'sql'>,
  email: string | undefined,
  option = '--email',
): Promise<AccountRow> {
  const account = await accountByEmail(admin, email, option);
  if (email === undefined || !(await hasUnprovedAddress(admin.sql, account.id))) return account;
  throw new CommandError(
    `the account ${account.id} gave the address ${email} to itself, and nobody proved it; if it is theirs: svc accounts set --id ${account.id} --new-email ${email}`,
  );
}

function collectFeature(value: string, previous: Record<string, boolean>): Record<string, boolean> {
  const match = /^([a-z][a-z0-9_-]{0,39})=(on|off)$/.exec(value);
  if (!match?.[1]) throw new CommandError(`"${value}" must look like transcripts=on or transcripts=off`);
  return { ...previous, [match[1]]: match[2] === 'on' };
}
