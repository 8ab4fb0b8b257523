import { randomBytes } from 'node:crypto';
import type { ToolLevel } from '@svc/contract';
import type { Mail } from '@svc/words';
import type { Command } from 'commander';
import { CommandError } from '../../kernel/base/command-error.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Admin, type Commands, emailAddress, type Run } from '../../kernel/commands.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import { accountByEmail, defaultAccount, inviteAccount, levelOption, vouchedAccount } from '../accounts/index.ts';
import { endConnectionsOf } from '../connections/index.ts';
import { PrivateMails } from '../notifications/index.ts';
import { signInsOf } from './auth.sign-ins.ts';
import { listLogins } from './people/logins.sql.ts';
import { deleteClient, insertClient, listClients } from './provider/clients.sql.ts';
import { listSigningKeys } from './provider/keys.sql.ts';
import { rotateSigningKeys } from './provider/keys.ts';
import { deleteGrantsOf } from './provider/records.sql.ts';
import { kindOfRedirect } from './provider/redirects.ts';

/** `svc accounts invite | link | logins | sign-out`, `svc clients …` and `svc auth …`. */
export const authCommands: Commands = (program, run) => {
  const accounts = program.commands.find((command) => command.name() === 'accounts') ?? program.command('accounts');
  accounts
    .command('invite')
    .description('create an account and print a link with which its person chooses how to sign in, once')
    .requiredOption('--email <address>', 'e-mail address', emailAddress)
    .option('--name <name>', 'name', '')
    .addOption(levelOption())
    .action(run(invite));
  accountCommand(
    accounts,
    'link',
    'print a link with which a person gets in, or back in, once',
    run,
    link,
    vouchedAccount,
  );
  accountCommand(accounts, 'logins', "an account's signed-in browsers, the one used last first", run, logins);
  accountCommand(accounts, 'sign-out', 'sign an account out of every browser, at once', run, signOut);
  clientCommands(program.command('clients').description('apps you registered for sign-in'), run);
  const auth = program.command('auth').description('keys that sign ID tokens');
  auth
    .command('keys')
    .description('the keys, the one that signs first')
    .action(run(async (admin: Admin) => (await listSigningKeys(admin.sql)).map(toKey)));
  auth
    .command('rotate-keys')
    .description('have the next key sign; it was published long before, and the former one is for another day')
    .action(run(rotateKeys));
};

interface Named {
  email?: string;
}

function accountCommand(
  accounts: Command,
  name: string,
  description: string,
  run: Run,
  work: (admin: Admin, account: { id: string; email: string }) => Promise<unknown>,
  find: typeof accountByEmail = accountByEmail,
): void {
  accounts
    .command(name)
    .description(description)
    .option('--email <address>', `e-mail address; ${defaultAccount}`, emailAddress)
    .action(run(async (admin: Admin, { email }: Named) => work(admin, await find(admin, email))));
}

async function invite(admin: Admin, { email, name, toolLevel }: { email: string; name: string; toolLevel: ToolLevel }) {
  const mails = new PrivateMails(admin);
  const sending: Promise<void>[] = [];
  const mail = admin.config.mail && ((to: string, said: Mail) => sending[sending.push(mails.send(to, said)) - 1]);
  try {
    const signIns = signInsOf(admin, mail as Parameters<typeof signInsOf>[1]);
    const { id, url } = await inTransaction(admin.sql, (tx) =>
      inviteAccount(tx, signIns, { email, name, tool_level: toolLevel, by: byCommand }),
    );
    const sent = await Promise.allSettled(sending);
    return { account_id: id, email, url, mailed: sent.some(({ status }) => status === 'fulfilled') };
  } catch (error) {
    throw error instanceof ApiError ? new CommandError(error.message) : error;
  } finally {
    mails.close();
  }
}

const link = async (admin: Admin, { id, email }: { id: string; email: string }) => ({
  account_id: id,
  email,
  url: await signInsOf(admin, undefined).link(id, byCommand),
});

const logins = async (admin: Admin, { id }: { id: string }) =>
  (await listLogins(admin.sql, admin.clock, id)).map(({ amr, ...login }) => ({ ...login, amr: amr.join(' ') }));

const signOut = async (admin: Admin, { id, email }: { id: string; email: string }) => ({
  account_id: id,
  email,
  ended: await signInsOf(admin, undefined).signOut(id, byCommand),
});

interface NewClient {
  name: string;
  redirectUri: string[];
  native?: boolean;
}

function clientCommands(clients: Command, run: Run): void {
  clients
    .command('list')
    .description('apps that were registered here, newest first')
    .action(run(async (admin: Admin) => listClients(admin.sql)));
  clients
    .command('create')
    .description('register an app; people may let it do more than one that nobody vouches for')
    .requiredOption('--name <name>', 'name that people see, 80 characters at most', clientName)
    .requiredOption('--redirect-uri <uri...>', 'where answers are sent; several are allowed')
    .option('--native', 'it runs on the device of its person: http://127.0.0.1 and schemes of its own are allowed')
    .action(run(createClient));
  clients
    .command('remove')
    .description('remove an app: nobody signs in to it any more; what it was given is ended under Connected apps')
    .argument('<id>', 'its id (see: svc clients list)')
    .action(run(removeClient));
}

function clientName(name: string): string {
  if (name.trim() === '' || name.length > 80) throw new CommandError('the name must have 1 to 80 characters');
  return name.trim();
}

async function createClient(admin: Admin, { name, redirectUri, native = false }: NewClient) {
  if (redirectUri.length > 20) throw new CommandError('an app has 20 redirect URIs at most');
  for (const uri of redirectUri) checkRedirect(uri, native);
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 32);
  const id = `${slug === '' ? 'app' : slug}-${randomBytes(4).toString('hex')}`;
  await inTransaction(admin.sql, async (tx) => {
    await insertClient(tx, { id, name, redirect_uris: redirectUri, native });
    const details = { name, redirect_uris: redirectUri, native };
    await writeAct(tx, { accountId: null, by: byCommand, action: 'auth.createClient', subject: id, details });
  });
  return { client_id: id, name, redirect_uris: redirectUri, native };
}

/** As the provider takes them: https, or for an app on a device a loopback address or a scheme of its own. */
function checkRedirect(uri: string, native: boolean): void {
  const refuse = (why: string): never => {
    throw new CommandError(`"${uri}" ${why}`);
  };
  if (!URL.canParse(uri)) return refuse('is no URL');
  const { protocol, hash, username, password } = new URL(uri);
  if (hash !== '' || uri.includes('#')) return refuse('must have no fragment');
  if (username !== '' || password !== '') return refuse('must have no user and no password');
  // It would be compared letter by letter, and never fit; in a query it may be meant.
  if (/^[^?]*\*/.test(uri))
    return refuse('must be whole: answers go to exactly this address, and a "*" stands for nothing');
  if (uri !== uri.trim() || /[\s\\]/.test(uri)) return refuse('must have no blanks and no backslash');
  if (protocol === 'https:') return;
  if (!native) return refuse('must be https; add --native for an app that runs on the device of its person');
  if (typeof kindOfRedirect(uri) === 'object')
    return refuse('must be https, http on a loopback address, or a scheme of the app such as com.example.app:');
}

async function removeClient(admin: Admin, id: string) {
  let isThere = false;
  await inTransaction(admin.sql, async (tx) => {
    isThere = await deleteClient(tx, id);
    if (isThere) await writeAct(tx, { accountId: null, by: byCommand, action: 'auth.removeClient', subject: id });
  });
  // After it: nobody lets it in any more.
  const end = (tx: Db, { account_id: accountId }: { account_id: string }) => deleteGrantsOf(tx, accountId, id);
  // Those of an app too whose removal was cut short, or that an earlier release removed.
  const ended = await endConnectionsOf(admin, id, { by: byCommand, end });
  if (!isThere && ended === 0) throw new CommandError(`no app has the id ${id} (see: svc clients list)`);
  return { client_id: id, removed: true, connections_ended: ended };
}

const toKey = (row: { id: string; created_at: string; began_at: string | null; ended_at: string | null }) => ({
  id: row.id,
  state: row.ended_at !== null ? 'ended' : row.began_at !== null ? 'signs' : 'next',
  created_at: row.created_at,
  began_at: row.began_at,
  ended_at: row.ended_at,
});

async function rotateKeys(admin: Admin) {
  if (!(await rotateSigningKeys(admin, { force: true })))
    throw new CommandError('there are no keys yet; the platform makes them when somebody signs in');
  await writeAct(admin.sql, { accountId: null, by: byCommand, action: 'auth.rotateKeys' });
  return (await listSigningKeys(admin.sql)).map(toKey);
}
