import { wordsOf } from '@svc/words';
import { inTransaction } from '../../../kernel/db/db.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import { findProfile } from '../../accounts/index.ts';
import { messagePage } from '../pages/notes.ts';
import { recoverPage } from '../pages/start.ts';
import { countRecoveryCodes, useRecoveryCode } from '../people/codes.ts';
import { createLink, endLinks } from '../people/links.ts';
import { endLogins } from '../people/logins.ts';
import { mayMail } from '../people/mails.ts';
import { findPerson } from '../people/passwords.sql.ts';
import { setPassword } from '../people/passwords.ts';
import { checkNewPassword } from '../people/strength.ts';
import { removeWays } from '../people/ways.ts';
import { waitForMail } from './asking.ts';
import type { FlowParts } from './parts.ts';
import type { PageVisit } from './visit.ts';

/** A link by mail counts so long. */
const linkSeconds = 1_800;

/** A recovery code with a new password, or a link by mail: for a person who cannot sign in. */
export async function recover(visit: PageVisit, parts: FlowParts): Promise<void> {
  const { page } = visit;
  const action = page.base + visit.path;
  const mail = parts.mail !== undefined;
  if (visit.method !== 'POST') return visit.html(200, recoverPage(page, { action, mail }));
  visit.checkOwn();
  const form = await visit.form();
  const email = (form.get('email') ?? '').trim().slice(0, 254);
  if (mail && form.get('way') === 'mail') return mailLink(visit, parts, email);
  const fault = checkNewPassword(form.get('password') ?? '', email);
  if (fault !== undefined) {
    const problem = fault === 'address' ? 'isEmail' : fault;
    return visit.html(400, recoverPage(page, { action, email, mail, problem }));
  }
  const { network } = visit;
  const guess = { accountId: null, email: `recovery ${email}`, network, perNetwork: true };
  const attempt = await parts.guesses.begin(guess);
  if ('waitSeconds' in attempt)
    return visit.html(
      429,
      recoverPage(page, { action, email, mail, problem: 'slow', waitSeconds: attempt.waitSeconds }),
    );
  const accountId = await withCode(parts, network, {
    email,
    code: form.get('code') ?? '',
    password: form.get('password') ?? '',
    only: form.get('only') === 'this',
  });
  if (accountId === undefined) return visit.html(401, recoverPage(page, { action, email, mail, problem: 'wrong' }));
  await attempt.succeeded();
  await parts.identity.startSession(visit, accountId, ['pwd', 'rec']);
  const { message, redirect } = wordsOf(page.locale);
  const text = message.recoveredText(await countRecoveryCodes(parts.kernel.sql, accountId));
  const way = { href: parts.identity.homeFor(visit), linkText: redirect.link };
  visit.html(200, messagePage(page, { title: message.recoveredTitle, text, ...way }));
}

/** Sets a password by a code, and ends every other sign-in; undefined for a code that does not count. */
async function withCode(
  { kernel, hashing, identity }: FlowParts,
  network: string,
  { email, code, password, only }: { email: string; code: string; password: string; only: boolean },
): Promise<string | undefined> {
  return inTransaction(kernel.sql, async (tx) => {
    const found = await useRecoveryCode(kernel, { email, code, tx });
    if (!found) return undefined;
    const { accountId } = found;
    if (only) await removeWays(kernel, { accountId, by: bySystem, tx });
    await setPassword({ ...kernel, hashing }, { accountId, password, email, by: bySystem, tx });
    await endLogins(kernel, { accountId, by: bySystem, tx });
    await endLinks(kernel, { accountId, by: bySystem, tx });
    await identity.endSessions(tx, accountId);
    await identity.tell(tx, accountId, { type: 'login.recovered', network });
    return accountId;
  });
}

/**
 * Mails a link, if an account has the address and not too many mails of today. The page waits for none of it: how long it
 * takes would tell who has one.
 */
async function mailLink(visit: PageVisit, parts: FlowParts, email: string): Promise<void> {
  const { page } = visit;
  const { kernel } = parts;
  const { message } = wordsOf(page.locale);
  const waitSeconds = await waitForMail(kernel, visit, 'recovery_mail', email);
  if (waitSeconds !== undefined) {
    const action = page.base + visit.path;
    return visit.html(429, recoverPage(page, { action, email, mail: true, problem: 'slow', waitSeconds }));
  }
  sendLink(visit, parts, email).catch((err: unknown) =>
    kernel.log.warn({ err }, 'a mail with a recovery link was not sent'),
  );
  visit.html(200, messagePage(page, { title: message.sentTitle, text: message.sentText(email) }));
}

async function sendLink({ page, network }: PageVisit, { kernel, mail, identity }: FlowParts, email: string) {
  const person = await findPerson(kernel.sql, email);
  if (!mail || !person?.may_sign_in) return;
  // To the address that the account has, never to the one that a stranger typed.
  const { account_id: accountId, email: to } = person;
  if (!(await mayMail(kernel, { email: to, accountId, network }))) return;
  const { token } = await createLink(kernel, { purpose: 'recover', accountId, email: to, network, by: bySystem });
  const link = identity.linkOf('link', token);
  const locale = (await findProfile(kernel.sql, accountId))?.locale ?? page.locale;
  await mail(to, wordsOf(locale).mails.recoveryLink({ link, validSeconds: linkSeconds, network }));
}
