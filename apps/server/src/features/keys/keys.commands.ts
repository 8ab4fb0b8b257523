import { scopeNames, type ToolLevel, toolLevels } from '@svc/contract';
import { type Admin, CommandError, type Commands, emailAddress, oneOf, span } from '../../kernel/commands.ts';
import { accountByEmail, defaultAccount } from '../accounts/index.ts';
import { changeKey } from './keys.change.ts';
import { issueKey } from './keys.issue.ts';
import { hashKey } from './keys.lookup.ts';
import { isKeyText } from './keys.rules.ts';
import { findKeyOwner, type KeyRow, listKeys } from './keys.sql.ts';
import { toRecord } from './keys.view.ts';

/** More than the quota of most accounts. */
const mostListed = 100_000;

/** `svc keys …` (launch contract, Admin commands). */
export const keysCommands: Commands = (program, run) => {
  const keys = program.command('keys').description('API keys; a change takes effect on the next request');
  keys
    .command('create')
    .description('create a key and print it, once')
    .option('--email <address>', `account of the key; ${defaultAccount}`, emailAddress)
    .option('--name <name>', 'name', 'API key')
    .option('--scopes <list>', `comma-separated: ${scopeNames.join(', ')}`, parseScopes, ['*'])
    .option('--tool-level <level>', `${toolLevels.join(', ')}; default: the account's`, oneOf(toolLevels))
    .option('--expires-in <span>', 'such as 12h or 30d; default: never', span)
    .action(run(createKey));
  keys
    .command('list')
    .description("an account's keys, newest first")
    .option('--email <address>', `account; ${defaultAccount}`, emailAddress)
    .action(
      run(async (admin: Admin, { email }: { email?: string }) => {
        const account = await accountByEmail(admin, email);
        return (await listKeys(admin.sql, account.id, { limit: mostListed })).map(toRecord);
      }),
    );
  for (const [verb, status, description] of changes) {
    keys
      .command(verb)
      .description(description)
      .argument('[key]', "the key's id, or its text")
      .option('--id <id>', "the key's id")
      .action(
        run((admin: Admin, key: string | undefined, options: { id?: string }) =>
          setStatus(admin, key ?? options.id, status),
        ),
      );
  }
};

const changes: readonly [string, KeyRow['status'], string][] = [
  ['pause', 'paused', 'refuse a key until it is resumed'],
  ['resume', 'active', 'accept a paused key again'],
  ['revoke', 'revoked', 'refuse a key for good'],
];

async function createKey(
  admin: Admin,
  options: { email?: string; name: string; scopes: string[]; toolLevel?: ToolLevel; expiresIn?: number },
) {
  const account = await accountByEmail(admin, options.email);
  const expiresAt =
    options.expiresIn === undefined ? undefined : new Date(admin.clock.now() + options.expiresIn * 1000).toISOString();
  const { id, text } = await issueKey(admin, admin.sql, {
    accountId: account.id,
    name: options.name,
    scopes: options.scopes,
    toolLevel: options.toolLevel,
    expiresAt,
  });
  return { id, key: text };
}

async function setStatus(admin: Admin, key: string | undefined, status: KeyRow['status']) {
  if (key === undefined) throw new CommandError('name the key by its id (see: svc keys list) or by its text');
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(key);
  if (!isId && !isKeyText(key)) throw new CommandError('this is neither the id of a key nor its text');
  const found = await findKeyOwner(admin.sql, isId ? { id: key } : { hash: hashKey(admin, key) });
  if (!found) throw new CommandError('no such key');
  return toRecord(await changeKey(admin, found.account_id, found.id, { status }));
}

function parseScopes(value: string): string[] {
  const scopes = value.split(',').map((item) => item.trim());
  return scopes.map(oneOf(scopeNames));
}
