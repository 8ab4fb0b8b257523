import { createInterface } from 'node:readline/promises';
import { byCommand } from '../../kernel/records/audit.ts';
import { type Admin, type Commands, emailAddress } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import type { AccountData } from '../../kernel/deletion.ts';
import type { Db } from '../../kernel/db/db.ts';
import { printable } from '../../kernel/base/text.ts';
import { accountOf, idOption, type Which } from './accounts.commands.ts';
import { deleteMarked, markDeleted } from './accounts.deletion.ts';
import { type AccountRow, isLeaving } from './accounts.sql.ts';

/** The parts of the features that a deletion uses. */
export interface DeletionParts {
  data: readonly AccountData[];
  /** Says why the account must stay as it is; `handsOver`: what has other members stays with them. */
  refusal: (db: Db, accountId: string, handsOver?: boolean) => Promise<KeepReason | undefined>;
  /** Leaves what the account alone owns, and others use, to one of these. */
  handOver: (admin: Admin, tx: Db, accountId: string) => Promise<readonly Heir[]>;
  /** To whom `handOver` would leave what, now. */
  heirsOf: (db: Db, accountId: string) => Promise<readonly Heir[]>;
}

/** Who gets an environment. */
interface Heir {
  environment: string;
  to: string;
}

/** Why an account must stay as it is, and what to do first. */
interface KeepReason {
  code: 'last_operator' | 'last_owner';
  why: string;
  /** Nobody else loses anything by it: the command does it with `--force`. */
  mayBeForced: boolean;
  /** Others lose something by it, unless it is handed over to them: the command does that with `--hand-over`. */
  mayBeHandedOver?: true;
}

interface Options extends Which {
  yes?: boolean;
  force?: boolean;
  handOver?: boolean;
}

/** `svc accounts delete`, beside the other commands of accounts. */
export const deletionCommands =
  (parts: DeletionParts): Commands =>
  (program, run) => {
    const accounts = program.commands.find((command) => command.name() === 'accounts') ?? program.command('accounts');
    accounts
      .command('delete')
      .description('delete an account and everything of it, for good; what was interrupted goes on')
      .option('--email <address>', 'e-mail address', emailAddress)
      .addOption(idOption())
      .option('--yes', 'do not ask; needed without a terminal')
      .option(
        '--hand-over',
        'environments that it alone owns go to a member: the highest role, of several who is there longest',
      )
      .option('--force', 'also the last operator, and the last account with a key that may do everything')
      .addHelpText('after', `\n${keptText(parts.data)}`)
      .action(run((admin: Admin, options: Options) => deleteAccount(admin, parts, options)));
  };

/** The list of data that stays, of all features. */
function keptText(data: readonly AccountData[]): string {
  const kept = data.flatMap(({ keeps = {} }) => Object.entries(keeps));
  return ['What stays:', ...kept.map(([table, why]) => `  ${table}: ${why}`)].join('\n');
}

async function deleteAccount(admin: Admin, parts: DeletionParts, { yes, force, handOver, ...which }: Options) {
  const account = await accountOf(admin, which);
  let handedOver: readonly Heir[] = [];
  const check = async (db: Db): Promise<void> => {
    const refused = await parts.refusal(db, account.id, handOver);
    if (refused && !(refused.mayBeForced && force === true))
      throw new CommandError(`${refused.why}${optionOf(refused)}`);
  };
  // One whose deletion began is past being asked about.
  if (!(await isLeaving(admin.sql, account.id))) {
    await check(admin.sql);
    if (yes !== true) {
      const heirs = handOver === true ? await parts.heirsOf(admin.sql, account.id) : [];
      if (!(await isSure(account, heirs))) throw new CommandError('nothing was deleted');
    }
    await markDeleted(admin, account.id, byCommand, async (tx) => {
      // Meanwhile somebody else's deletion may have handed something over to this account.
      await check(tx);
      if (handOver === true) handedOver = await parts.handOver(admin, tx, account.id);
    });
  }
  const leaving = { accountId: account.id, email: account.email };
  const { deleted, left } = await deleteMarked(admin, parts.data, leaving, byCommand);
  return {
    account_id: account.id,
    email: account.email,
    ...(handedOver.length > 0 && { handed_over: handedOver.map(heirText) }),
    ...deleted,
    ...Object.fromEntries(
      Object.entries(left).map(([kind, count]) => [`left to the running platform: ${kind}`, count]),
    ),
  };
}

const heirText = ({ environment, to }: Heir): string => `${environment} to ${to}`;

/** What the operator may add to have it done. */
const optionOf = ({ mayBeForced, mayBeHandedOver }: KeepReason): string =>
  mayBeForced
    ? ', or add --force'
    : mayBeHandedOver
      ? ', or add --hand-over: its member with the highest role, of several who is there longest, has it then (no viewer)'
      : '';

/** Asks on the terminal. */
async function isSure({ email, name }: AccountRow, heirs: readonly Heir[]): Promise<boolean> {
  const { stdin, stderr } = process;
  const goes = heirs.map((heir) => `goes over: ${printable(heirText(heir))}\n`).join('');
  if (!stdin.isTTY || !stderr.isTTY)
    throw new CommandError(`${goes}there is no terminal to ask on; add --yes to delete it`);
  const asking = createInterface({ input: stdin, output: stderr });
  try {
    const who = printable(name === '' ? email : `${name}, ${email}`);
    const answer = await asking.question(`${goes}Delete the account of ${who}, and everything of it, for good? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
  }
}
