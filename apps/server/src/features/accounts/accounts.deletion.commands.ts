import { createInterface } from 'node:readline/promises';
import { byCommand } from '../../kernel/records/audit.ts';
import { type Admin, type Commands, emailAddress } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import type { AccountData } from '../../kernel/deletion.ts';
import type { Db } from '../../kernel/db/db.ts';
import { printable } from '../../kernel/base/text.ts';
import { accountByEmail } from './accounts.commands.ts';
import { deleteMarked, markDeleted } from './accounts.deletion.ts';
import { type AccountRow, isLeaving } from './accounts.sql.ts';

/** The parts of the features that a deletion uses. */
export interface DeletionParts {
  data: readonly AccountData[];
  /** Says why the account must stay as it is. */
  refusal: (db: Db, accountId: string) => Promise<KeepReason | undefined>;
}

/** Why an account must stay as it is, and what to do first. */
interface KeepReason {
  code: 'last_operator' | 'last_owner';
  why: string;
  /** Nobody else loses anything by it: the command does it with `--force`. */
  mayBeForced: boolean;
}

interface Options {
  email: string;
  yes?: boolean;
  force?: boolean;
}

/** `svc accounts delete`, beside the other commands of accounts. */
export const deletionCommands =
  (parts: DeletionParts): Commands =>
  (program, run) => {
    const accounts = program.commands.find((command) => command.name() === 'accounts') ?? program.command('accounts');
    accounts
      .command('delete')
      .description('delete an account and everything of it, for good; what was interrupted goes on')
      .requiredOption('--email <address>', 'e-mail address', emailAddress)
      .option('--yes', 'do not ask; needed without a terminal')
      .option('--force', 'also the last operator, and the last account with a key that may do everything')
      .addHelpText('after', `\n${keptText(parts.data)}`)
      .action(run((admin: Admin, options: Options) => deleteAccount(admin, parts, options)));
  };

/** The list of data that stays, of all features. */
function keptText(data: readonly AccountData[]): string {
  const kept = data.flatMap(({ keeps = {} }) => Object.entries(keeps));
  return ['What stays:', ...kept.map(([table, why]) => `  ${table}: ${why}`)].join('\n');
}

async function deleteAccount(admin: Admin, { data, refusal }: DeletionParts, { email, yes, force }: Options) {
  const account = await accountByEmail(admin, email);
  // One whose deletion began is past being asked about.
  if (!(await isLeaving(admin.sql, account.id))) {
    const refused = await refusal(admin.sql, account.id);
    if (refused && !(refused.mayBeForced && force === true))
      throw new CommandError(refused.mayBeForced ? `${refused.why}, or add --force` : refused.why);
    if (yes !== true && !(await isSure(account))) throw new CommandError('nothing was deleted');
    await markDeleted(admin, account.id, byCommand);
  }
  const leaving = { accountId: account.id, email: account.email };
  const { deleted, left } = await deleteMarked(admin, data, leaving, byCommand);
  return {
    account_id: account.id,
    email: account.email,
    ...deleted,
    ...Object.fromEntries(
      Object.entries(left).map(([kind, count]) => [`left to the running platform: ${kind}`, count]),
    ),
  };
}

/** Asks on the terminal. */
async function isSure({ email, name }: AccountRow): Promise<boolean> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) throw new CommandError('there is no terminal to ask on; add --yes to delete it');
  const asking = createInterface({ input: stdin, output: stderr });
  try {
    const who = printable(name === '' ? email : `${name}, ${email}`);
    const answer = await asking.question(`Delete the account of ${who}, and everything of it, for good? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
  }
}
