import { randomUUID } from 'node:crypto';
import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import { type Admin, type Commands, emailAddress, integer } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { accountByEmail, defaultAccount, vouchedAccount } from '../accounts/index.ts';
import { insertEntry, latestEntries, sumEntries } from './wallet.sql.ts';

const shownEntries = 20;

/** `svc wallet …` (launch contract, Admin commands). Amounts are integers in micro-euro. */
export const walletCommands: Commands = (program, run) => {
  const wallet = program.command('wallet').description('prepaid balances');
  wallet
    .command('credit')
    .description('add to a balance; a negative amount corrects one')
    .option('--email <address>', `account; ${defaultAccount}`, emailAddress)
    .requiredOption('--micro-eur <amount>', '1,000,000 is one euro', integer)
    .option('--source-key <key>', 'makes a repeat of this command harmless')
    .option('--note <text>', 'what it was for', '')
    .action(run(credit));
  wallet
    .command('show')
    .description('balance and latest entries')
    .option('--email <address>', `account; ${defaultAccount}`, emailAddress)
    .action(run(show));
};

async function credit(admin: Admin, options: { email?: string; microEur: number; sourceKey?: string; note: string }) {
  if (options.microEur === 0) throw new CommandError('--micro-eur must not be 0');
  const account = await vouchedAccount(admin, options.email);
  const credited = await inTransaction(admin.sql, async (tx) => {
    const amountMicroEur = options.microEur;
    const sourceKey = `credit:${options.sourceKey ?? randomUUID()}`;
    const isNew = await insertEntry(tx, { accountId: account.id, amountMicroEur, sourceKey, note: options.note });
    const details = { amount_micro_eur: amountMicroEur, source_key: sourceKey };
    if (isNew) await writeAct(tx, { accountId: account.id, by: byCommand, action: 'wallet.credit', details });
    return isNew;
  });
  return { account_id: account.id, credited, balance_micro_eur: await sumEntries(admin.sql, account.id) };
}

async function show(admin: Admin, { email }: { email?: string }) {
  const account = await accountByEmail(admin, email);
  const [balance, entries] = await Promise.all([
    sumEntries(admin.sql, account.id),
    latestEntries(admin.sql, account.id, shownEntries),
  ]);
  return { account_id: account.id, email: account.email, balance_micro_eur: balance, entries };
}
