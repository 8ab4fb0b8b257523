import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { newEmail } from '@svc/contract';
import { wordsOf } from '@svc/words';
import { ApiError } from '../../../kernel/base/errors.ts';
import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import { bySystem, writeAct } from '../../../kernel/records/audit.ts';
import { changeEmail, claimAddress, findEmail, insertAccount, nameAccount } from '../../accounts/index.ts';
import { signInsOf } from '../auth.sign-ins.ts';
import { messagePage } from '../pages/notes.ts';
import { codesPage, tokenPage, welcomePage } from '../pages/start.ts';
import { makeRecoveryCodes } from '../people/codes.ts';
import { giveLink } from '../people/links.sql.ts';
import { endLinks, lookAtLink, type OpenLink, takeOpenLink, wasUsed } from '../people/links.ts';
import { endLogins } from '../people/logins.ts';
import { registerPasskey } from '../people/passkeys.ts';
import { setPassword } from '../people/passwords.ts';
import { removeWays } from '../people/ways.ts';
import type { FlowParts } from './parts.ts';
import { parsePasskey, passkeysOf } from './sign-in.ts';
import type { PageVisit } from './visit.ts';

/** Links that set up a way to sign in. */
type StartPurpose = 'setup' | 'invite' | 'recover';

/** The pages behind a one-time link: its token, then address and password or passkey, then ten recovery codes. */
export async function start(visit: PageVisit, parts: FlowParts, purposes: readonly StartPurpose[]): Promise<void> {
  const [first = 'setup'] = purposes;
  const action = visit.page.base + visit.path;
  if (visit.method !== 'POST') return visit.html(200, tokenPage(visit.page, { action, purpose: first }));
  visit.checkOwn();
  const form = await visit.form();
  const token = form.get('carry') ?? form.get('token') ?? '';
  const text = token.trim().replace(/^.*#/, '');
  const found = await find(parts, purposes, text);
  if (!found) return sayOver(visit, parts, purposes, text);
  if (form.get('carry') === null) return visit.html(200, await welcome(visit, parts, found));
  await settle(visit, parts, found, form);
}

/** Says that a link is good for nothing; to who used it, and lost the answer, that they have what it was for. */
async function sayOver(
  visit: PageVisit,
  { kernel, identity }: FlowParts,
  purposes: readonly StartPurpose[],
  token: string,
): Promise<void> {
  const { page } = visit;
  if (await wasUsed(kernel, { purposes, token })) {
    const { message } = wordsOf(page.locale);
    const way = { href: identity.homeFor(visit), linkText: message.signIn };
    return visit.html(400, messagePage(page, { title: message.usedTitle, text: message.usedText, ...way }));
  }
  identity.strangers.note(visit.address);
  const [purpose = 'setup'] = purposes;
  visit.html(400, tokenPage(page, { action: page.base + visit.path, purpose, problem: 'over' }));
}

interface Found extends OpenLink {
  purpose: StartPurpose;
  token: string;
}

async function find(parts: FlowParts, purposes: readonly StartPurpose[], token: string): Promise<Found | undefined> {
  const { kernel } = parts;
  for (const purpose of purposes) {
    const link = await lookAtLink(kernel, { purpose, token });
    if (!link) continue;
    const accountId = link.accountId ?? (await join(parts, link));
    return accountId === undefined ? undefined : { ...link, accountId, purpose, token };
  }
  return undefined;
}

/** Makes the account of who invited themselves; undefined when somebody has the address by now. */
async function join({ kernel, mail }: FlowParts, { id, email: asked }: OpenLink): Promise<string | undefined> {
  if (asked === null) return undefined;
  // A release before this one kept the text as it was typed.
  const email = newEmail(asked) ?? asked;
  return inTransaction(kernel.sql, async (tx) => {
    // The link came by mail to this address, and proves it.
    const taken = await claimAddress(tx, signInsOf(kernel, mail), { email, by: bySystem });
    const made = await insertAccount(tx, { email, name: '' });
    if (!made) return undefined;
    await giveLink(tx, kernel.clock, id, made.id);
    const act = { by: bySystem, action: 'accounts.create', subject: made.id, details: { email, ...taken } };
    await writeAct(tx, { accountId: made.id, ...act });
    return made.id;
  });
}

type Problems = NonNullable<Parameters<typeof welcomePage>[1]['problems']>;

async function welcome(
  visit: PageVisit,
  { kernel }: FlowParts,
  { accountId, purpose, token }: Found,
  typed: { email?: string; name?: string; problems?: Problems } = {},
): Promise<string> {
  const { page } = visit;
  const known = (await findEmail(kernel.sql, accountId as string)) ?? '';
  // The first account has the address of nobody until it is set up.
  const isPlaceholder = purpose === 'setup' && known.endsWith('@localhost');
  return welcomePage(page, {
    action: page.base + visit.path,
    purpose,
    email: typed.email ?? (isPlaceholder ? '' : known),
    emailFixed: purpose !== 'setup',
    name: typed.name ?? '',
    // The link opens on the other address too: it is the same page, and the same token.
    passkeys: passkeysOf(visit, (origin) => `${origin}${visit.path}#${token}`),
    passkeyOptionsHref: `${page.base}/passkeys/new`,
    problems: typed.problems,
    carry: token,
  });
}

/** Takes what the page sends: all of it, or nothing. */
async function settle(visit: PageVisit, parts: FlowParts, found: Found, form: URLSearchParams): Promise<void> {
  const { kernel, hashing, identity } = parts;
  const { accountId, purpose, token } = found;
  if (accountId === null) throw new Error('a link without an account');
  const typed = (form.get('email') ?? '').trim();
  const email = purpose === 'setup' ? newEmail(typed) : await findEmail(kernel.sql, accountId);
  const name = (form.get('name') ?? '').trim().slice(0, 120);
  const passkey = form.get('passkey') || undefined;
  const refuse = async (problems: Problems): Promise<void> =>
    visit.html(400, await welcome(visit, parts, found, { email: email ?? typed, name, problems }));
  if (email === undefined) return refuse({ email: 'bad' });
  let problem: Problems | undefined;
  const codes = await inTransaction(kernel.sql, async (tx) => {
    if (!(await takeOpenLink(kernel, { purpose, token, tx }))) return undefined;
    // Whoever was in the account may have left a way back in.
    if (purpose === 'recover' && form.get('only') === 'this') await removeWays(kernel, { accountId, by: bySystem, tx });
    problem = await setUp({ ...kernel, hashing }, tx, {
      accountId,
      email,
      name,
      passkey,
      password: form.get('password') ?? '',
    });
    if (problem) throw new Undone();
    // Others that were made meanwhile: whoever has one of them would set up this account once more.
    await endLinks(kernel, { accountId, by: bySystem, tx });
    if (purpose === 'recover') await endLogins(kernel, { accountId, by: bySystem, tx });
    await identity.endSessions(tx, accountId);
    if (purpose === 'recover') await identity.tell(tx, accountId, { type: 'login.recovered', network: visit.network });
    if (passkey !== undefined) await identity.tell(tx, accountId, { type: 'passkey.added', name: 'Passkey' });
    return makeRecoveryCodes(kernel, { accountId, by: bySystem, tx });
  }).catch((error: unknown) => {
    if (error instanceof Undone) return [];
    throw error;
  });
  if (problem) return refuse(problem);
  if (!codes) return sayOver(visit, parts, [purpose], token);
  await identity.startSession(visit, accountId, [passkey === undefined ? 'pwd' : 'hwk']);
  visit.html(200, codesPage(visit.page, { codes, nextHref: identity.homeFor(visit) }));
}

/** Takes back a transaction whose form has a fault. */
class Undone extends Error {}

async function setUp(
  parts: FlowParts['kernel'] & Pick<FlowParts, 'hashing'>,
  tx: Db,
  given: { accountId: string; email: string; name: string; password: string; passkey: string | undefined },
): Promise<Problems | undefined> {
  const { accountId, email, name, password, passkey } = given;
  // Links other than the first operator's leave the address, and who gave it, as they are.
  const isOther = (await findEmail(tx, accountId)) !== email;
  if (isOther && !(await changeEmail(tx, accountId, email))) return { email: 'taken' };
  if (name !== '') await nameAccount(tx, accountId, name);
  if (passkey === undefined) {
    const fault = await setPassword(parts, { accountId, password, email, by: bySystem, tx });
    return fault && { password: fault === 'address' ? 'isEmail' : fault };
  }
  try {
    const response = parsePasskey(passkey) as RegistrationResponseJSON;
    await registerPasskey(parts, { accountId, response, name: 'Passkey', by: bySystem, tx });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return { passkey: true };
    throw error;
  }
}
