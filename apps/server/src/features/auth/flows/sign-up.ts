import { newEmail } from '@svc/contract';
import { wordsOf } from '@svc/words';
import { ApiError } from '../../../kernel/base/errors.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import type { Config } from '../../../config.ts';
import { hasUnprovedAddress } from '../../accounts/index.ts';
import { messagePage } from '../pages/notes.ts';
import { signUpPage } from '../pages/sign-up.ts';
import { createLink, inviteSeconds } from '../people/links.ts';
import { mayMail } from '../people/mails.ts';
import { findPerson } from '../people/passwords.sql.ts';
import { waitForMail } from './asking.ts';
import type { FlowParts } from './parts.ts';
import type { PageVisit } from './visit.ts';

/** The domain whose people may invite themselves; undefined where nobody may, or no mail can be sent. */
export const signUpDomain = ({ signUp, mail }: Pick<Config, 'signUp' | 'mail'>): string | undefined =>
  mail === undefined ? undefined : signUp;

/** The page on which people of the operator's domain ask for an invitation by mail. */
export async function signUp(visit: PageVisit, { kernel, mail, identity }: FlowParts): Promise<void> {
  const { page } = visit;
  const domain = signUpDomain(kernel.config);
  if (domain === undefined || !mail) throw new ApiError('not_found', 'there is nothing at this address');
  const shown = { action: page.base + visit.path, domain };
  if (visit.method !== 'POST') return visit.html(200, signUpPage(page, shown));
  visit.checkOwn();
  const typed = ((await visit.form()).get('email') ?? '').trim();
  const email = newEmail(typed);
  if (email === undefined) return visit.html(400, signUpPage(page, { ...shown, email: typed, problem: 'bad' }));
  const waitSeconds = await waitForMail(kernel, visit, 'sign_up_mail', email);
  if (waitSeconds !== undefined)
    return visit.html(429, signUpPage(page, { ...shown, email, problem: 'slow', waitSeconds }));
  const { signUp: texts } = wordsOf(page.locale);
  // Not waited for: how long it takes would tell who has no account yet.
  if (email.toLowerCase().endsWith(`@${domain}`))
    invite(visit, { kernel, mail, identity }, { typed, email }).catch((err: unknown) =>
      kernel.log.warn({ err }, 'a mail with an invitation was not sent'),
    );
  visit.html(200, messagePage(page, { title: texts.sentTitle, text: texts.sentText }));
}

async function invite(
  { page, network }: PageVisit,
  { kernel, mail, identity }: Pick<FlowParts, 'kernel' | 'mail' | 'identity'>,
  { typed, email }: { typed: string; email: string },
): Promise<void> {
  const person = await findPerson(kernel.sql, typed);
  const isKnown = person !== undefined && !(await hasUnprovedAddress(kernel.sql, person.account_id));
  if (isKnown || !(await mayMail(kernel, { email, accountId: null, network }))) return;
  const { token } = await createLink(kernel, { purpose: 'invite', email, network, by: bySystem });
  const server = new URL(kernel.config.authUrl).host;
  const link = identity.linkOf('link', token);
  await mail?.(email, wordsOf(page.locale).mails.invitation({ link, validSeconds: inviteSeconds, server }));
}
