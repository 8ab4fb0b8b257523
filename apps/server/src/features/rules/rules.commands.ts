import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import { type Admin, type Commands, emailAddress, oneOf } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { accountByEmail, vouchedAccount } from '../accounts/index.ts';
import { domainOf, type RuledTool, ruledTools } from './rules.decide.ts';
import { deleteRule, listRules, mostRules, putRule, type RuleRow } from './rules.sql.ts';

const whose = 'an account of this e-mail address alone; without it all accounts';

/** `svc rules …`: which sites search and fetch may reach (design: tools). */
export const rulesCommands: Commands = (program, run) => {
  const rules = program.command('rules').description('which sites search and fetch may reach');
  rules
    .command('list')
    .description('the rules for all accounts, or those of one')
    .option('--email <address>', whose, emailAddress)
    .action(run(list));
  rules
    .command('add')
    .description('deny wins; with an allow, nothing else is reached. `*` means every site')
    .argument('<effect>', 'allow or deny', oneOf(['allow', 'deny']))
    .argument('<domain>', 'a domain with all below it, an IP address, or *')
    .option('--tool <tool>', 'search or fetch; default: both', oneOf(ruledTools))
    .option('--email <address>', whose, emailAddress)
    .action(run(add));
  rules.command('remove').description('remove a rule').argument('<id>', 'its id').action(run(remove));
};

async function list(admin: Admin, { email }: { email?: string }) {
  return (await listRules(admin.sql, await accountOf(admin, email))).map(toRecord);
}

async function add(
  admin: Admin,
  effect: 'allow' | 'deny',
  text: string,
  { tool, email }: { tool?: RuledTool; email?: string },
) {
  const domain = domainOf(text);
  if (domain === undefined)
    throw new CommandError(`"${text}" must be a domain such as example.com, an IP address, or *`);
  const accountId = await accountOf(admin, email, effect === 'allow' ? vouchedAccount : accountByEmail);
  const rule = await inTransaction(admin.sql, async (tx) => {
    const row = await putRule(tx, admin.clock, { account_id: accountId, effect, domain, tool: tool ?? null });
    if (!row) throw new CommandError(`there are ${mostRules} rules already; remove some first`);
    await writeAct(tx, { accountId, by: byCommand, action: 'rules.add', subject: row.id, details: { effect, domain } });
    return row;
  });
  return toRecord(rule);
}

async function remove(admin: Admin, id: string) {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) throw new CommandError('the id must be a uuid');
  const rule = await inTransaction(admin.sql, async (tx) => {
    const row = await deleteRule(tx, id);
    if (!row) throw new CommandError('no such rule; see svc rules list');
    const { effect, domain, account_id: accountId } = row;
    await writeAct(tx, { accountId, by: byCommand, action: 'rules.remove', subject: id, details: { effect, domain } });
    return row;
  });
  return { removed: toRecord(rule) };
}

const accountOf = async (
  admin: Admin,
  email: string | undefined,
  find: typeof accountByEmail = accountByEmail,
): Promise<string | null> => (email === undefined ? null : (await find(admin, email)).id);

const toRecord = ({ id, effect, domain, tool, account_id: accountId }: RuleRow) => ({
  id,
  effect,
  domain,
  tool: tool ?? 'both',
  ...(accountId !== null && { account_id: accountId }),
});
