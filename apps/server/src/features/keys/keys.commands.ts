import { readFileSync } from 'node:fs';
import { readNamedFile } from '../../config.handed.ts';
import { scopeNames, type ToolLevel, toolLevels } from '@svc/contract';
import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import { type Admin, type Commands, emailAddress, oneOf, span } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { accountByEmail, defaultAccount, vouchedAccount } from '../accounts/index.ts';
import { changeKey, revokeKey } from './keys.change.ts';
import { issueKey } from './keys.issue.ts';
import { hashKey } from './keys.lookup.ts';
import { isKeyText, recognisable } from './keys.rules.ts';
import { findKeyOwners, type KeyRow, listKeys } from './keys.sql.ts';
import { treeOf } from './keys.tree.ts';
import { toRecord } from './keys.view.ts';

/** More than the quota of most accounts. */
const mostListed = 100_000;

/** `svc keys …` (launch contract, Admin commands). */
export const keysCommands: Commands = (program, run) => {
  const keys = program.command('keys').description('API keys; a change takes effect at once');
  keys
    .command('create')
    .description('create a key and print it, once')
    .option('--email <address>', `account of the key; ${defaultAccount}`, emailAddress)
    .option('--name <name>', 'name', 'API key')
    .option('--scopes <list>', `comma-separated: ${scopeNames.join(', ')}`, parseScopes, ['*'])
    .option('--tool-level <level>', `${toolLevels.join(', ')}; default: the account's`, oneOf(toolLevels))
    .option('--expires-in <span>', 'such as 12h or 30d; default: never', span)
    .action(run(createKey));
  for (const [verb, description, show] of lists) {
    keys
      .command(verb)
      .description(description)
      .option('--email <address>', `account; ${defaultAccount}`, emailAddress)
      .action(
        run(async (admin: Admin, { email }: { email?: string }) => {
          const account = await accountByEmail(admin, email);
          return show(await listKeys(admin.sql, account.id, { limit: mostListed }));
        }),
      );
  }
  for (const [verb, description] of changes) {
    const command = keys
      .command(verb)
      .description(description)
      .argument('[key]', "the key's id, or its prefix such as svc_Ab3d; -: its text on standard input")
      .option('--id <id>', "the key's id")
      .option('--text-file <path>', "a file with the key's text");
    if (verb === 'revoke') command.option('--children', 'with every key that it made, and that those made');
    command.action(run((admin: Admin, key: string | undefined, options: Named) => change(admin, verb, key, options)));
  }
};

const lists: readonly [string, string, (keys: readonly KeyRow[]) => object[]][] = [
  ['list', "an account's keys, newest first", (keys) => keys.map(toRecord)],
  ['tree', "an account's keys, each below the one that made it", treeOf],
];

const changes = [
  ['pause', 'refuse a key until it is resumed'],
  ['resume', 'accept a paused key again'],
  ['revoke', 'refuse a key for good'],
] as const;
type Verb = (typeof changes)[number][0];

interface Named {
  id?: string;
  textFile?: string;
  children?: boolean;
}

async function createKey(
  admin: Admin,
  options: { email?: string; name: string; scopes: string[]; toolLevel?: ToolLevel; expiresIn?: number },
) {
  const { name, scopes, toolLevel, expiresIn } = options;
  const { id: accountId } = await vouchedAccount(admin, options.email);
  const expiresAt = expiresIn === undefined ? undefined : new Date(admin.clock.now() + expiresIn * 1000).toISOString();
  return inTransaction(admin.sql, async (tx) => {
    const { id, text } = await issueKey(admin, tx, { accountId, name, scopes, toolLevel, expiresAt });
    const details = { name, prefix: recognisable(text).prefix, scopes };
    await writeAct(tx, { accountId, by: byCommand, action: 'keys.create', subject: id, details });
    return { id, key: text };
  });
}

async function change(admin: Admin, verb: Verb, key: string | undefined, named: Named): Promise<object> {
  const found = await findKey(admin, key ?? named.id, named.textFile);
  const whose = { accountId: found.account_id, by: byCommand };
  if (verb !== 'revoke') {
    const status = verb === 'pause' ? 'paused' : 'active';
    return toRecord(await changeKey(admin, found.id, { status }, whose));
  }
  const { row, children, left } = await revokeKey(admin, found.id, named.children === true, whose);
  return { ...toRecord(row), children_revoked: children, children_left: left };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const prefix = /^svc_[0-9A-Za-z]{4}$/;

/** The key that a command names; a text is read from where other users of the machine cannot see it. */
async function findKey(admin: Admin, word: string | undefined, textFile: string | undefined) {
  if (textFile !== undefined || word === '-') return findByText(admin, textFile ?? 0);
  if (word === undefined) throw new CommandError('name the key by its id or its prefix (see: svc keys list)');
  if (isKeyText(word)) {
    throw new CommandError(
      `a key on a command line is seen by others; name it by its prefix, ${recognisable(word).prefix}, or give its text on standard input (-) or with --text-file`,
    );
  }
  if (!uuid.test(word) && !prefix.test(word)) {
    throw new CommandError('this is neither the id of a key nor its prefix, such as svc_Ab3d (see: svc keys list)');
  }
  const found = await findKeyOwners(admin.sql, uuid.test(word) ? { id: word } : { prefix: word });
  const live = found.filter(({ status }) => status !== 'revoked');
  const [only, another] = live.length > 0 ? live : found;
  if (!only) throw new CommandError('no such key');
  if (another) throw new CommandError(`several keys begin with ${word}; name one by its id (see: svc keys list)`);
  return only;
}

async function findByText(admin: Admin, place: string | 0) {
  let text: string;
  try {
    text = (typeof place === 'string' ? readNamedFile(place) : readFileSync(place)).toString().trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`cannot read the key from ${place === 0 ? 'standard input' : place}: ${code ?? 'unknown'}`);
  }
  if (!isKeyText(text)) throw new CommandError('what was given is not the text of a key');
  const [found] = await findKeyOwners(admin.sql, { hash: hashKey(admin, text) });
  if (!found) throw new CommandError('no such key');
  return found;
}

function parseScopes(value: string): string[] {
  const scopes = value.split(',').map((item) => item.trim());
  return scopes.map(oneOf(scopeNames));
}
