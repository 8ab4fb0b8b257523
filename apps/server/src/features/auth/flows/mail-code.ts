import { wordsOf } from '@svc/words';
import type { Kernel } from '../../../kernel/kernel.ts';
import { findProfile, proveAddress } from '../../accounts/index.ts';
import { createMailCode, useMailCode } from '../people/codes.ts';
import { mayMail } from '../people/mails.ts';
import { findPerson } from '../people/passwords.sql.ts';
import { waitForMail } from './asking.ts';
import type { SendMail } from './parts.ts';
import type { PageVisit } from './visit.ts';

/** Which mail this browser asked for, and for which address. */
const mailCookie = '__Host-svc_mail';
const mailSeconds = 600;

/**
 * Mails a code to an address, if it has an account and not too many mails of today; the browser is told the same either way.
 * The seconds to wait when its network asked for too many.
 */
export async function sendMailCode(
  visit: PageVisit,
  { kernel, mail }: { kernel: Kernel; mail: SendMail },
  email: string,
): Promise<{ waitSeconds: number } | undefined> {
  const waitSeconds = await waitForMail(kernel, visit, 'sign_in_mail', email);
  if (waitSeconds !== undefined) return { waitSeconds };
  const person = await findPerson(kernel.sql, email);
  const accountId = person?.may_sign_in ? person.account_id : null;
  const { network } = visit;
  const { id, code } = await createMailCode(kernel, { email, purpose: 'sign-in', accountId, network });
  // Not waited for: how long a mail takes would tell who has an account.
  // To the address that the account has, never to the one that a stranger typed.
  const send = async (to: string, id: string): Promise<void> => {
    if (!(await mayMail(kernel, { email: to, accountId, network }))) return;
    const locale = (await findProfile(kernel.sql, id))?.locale ?? visit.page.locale;
    await mail(to, wordsOf(locale).mails.signInCode({ code, validSeconds: mailSeconds, network }));
  };
  if (person?.may_sign_in)
    send(person.email, person.account_id).catch((err: unknown) =>
      kernel.log.warn({ err }, 'a mail with a sign-in code was not sent'),
    );
  const value = Buffer.from(JSON.stringify({ id, email })).toString('base64url');
  visit.setCookie(mailCookie, value, { maxAge: mailSeconds, sameSite: 'Lax' });
  return undefined;
}

/** Who signs in with the code of a mail; the address when it is wrong; undefined when this browser asked for none. */
export async function mailCodeOf(
  visit: PageVisit,
  { kernel }: { kernel: Kernel },
  code: string,
): Promise<{ accountId: string } | { email: string } | undefined> {
  const asked = readCookie(visit.cookie(mailCookie));
  if (!asked) return undefined;
  const found = await useMailCode(kernel, { ...asked, purpose: 'sign-in', code: code.replace(/\D/g, '') });
  if (!found || found.accountId === null) return { email: asked.email };
  await proveAddress(kernel.sql, found.accountId, asked.email);
  visit.setCookie(mailCookie, null, { maxAge: 0, sameSite: 'Lax' });
  return { accountId: found.accountId };
}

function readCookie(text: string | undefined): { id: string; email: string } | undefined {
  try {
    const { id, email } = JSON.parse(Buffer.from(text ?? '', 'base64url').toString()) as Record<string, unknown>;
    const isId = typeof id === 'string' && /^[0-9a-f-]{36}$/.test(id);
    return isId && typeof email === 'string' ? { id, email } : undefined;
  } catch {
    return undefined;
  }
}
