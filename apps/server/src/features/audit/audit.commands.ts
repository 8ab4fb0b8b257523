import { type Admin, type Commands, emailAddress, integer, span } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { accountByEmail } from '../accounts/index.ts';
import { listActs } from './audit.sql.ts';
import { namesOf, toRecord } from './audit.view.ts';

const most = 10_000;

/** `svc audit`: the audit log of the whole installation, or of one account. */
export const auditCommands: Commands = (program, run) => {
  program
    .command('audit')
    .description('who did what in an account, newest first')
    .option('--email <address>', 'lines of this account only; default: all', emailAddress)
    .option('--since <when>', 'a span such as 2h or 30d, or an instant such as 2026-11-23T09:00:00Z')
    .option('--action <name>', 'an action such as keys.create, or a feature such as keys')
    .option('--limit <count>', `how many at most, up to ${most}`, integer, 200)
    .action(run(show));
};

async function show(
  admin: Admin,
  options: { email?: string; since?: string; action?: string; limit: number },
): Promise<object[]> {
  const { sql } = admin;
  if (options.limit < 1 || options.limit > most) throw new CommandError(`--limit must be 1 to ${most}`);
  const asked = options.email === undefined ? undefined : await accountByEmail(admin, options.email);
  const since = options.since === undefined ? undefined : await instantOf(admin, options.since);
  const { action, limit } = options;
  const rows = await listActs(sql, { accountId: asked?.id, since, action, limit });
  const names = await namesOf(sql, rows);
  return rows.map((row) => {
    const { id, at, who, key, account, address, action: done, subject, details, trace_id } = toRecord(row, names);
    const by = key === undefined ? who : `${key.prefix ?? key.id} ${key.name ?? ''}`.trim();
    return {
      at,
      by,
      action: done,
      subject,
      account_id: row.account_id ?? undefined,
      by_account: account?.email ?? account?.id,
      address,
      details,
      id,
      key_id: key?.id,
      trace_id,
    };
  });
}

/** An instant as it is given, or so long ago. */
async function instantOf({ sql, clock }: Admin, text: string): Promise<string> {
  const isInstant = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) && !Number.isNaN(Date.parse(text));
  if (isInstant) return new Date(text).toISOString();
  const { ms } = await readNow(sql, clock);
  return new Date(ms - span(text) * 1000).toISOString();
}
