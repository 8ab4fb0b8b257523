import { domainToUnicode } from 'node:url';
import { newEmail } from '@svc/contract';

/**
 * The spellings by which the account of a mail address is looked for, the text as given first: then the form in which
 * addresses are kept now, and those in which releases before kept them, with the domain in its own letters, composed or
 * not.
 */
export function spellingsOf(email: string): string[] {
  const kept = newEmail(email) ?? email;
  const at = kept.lastIndexOf('@');
  const domain = domainToUnicode(kept.slice(at + 1));
  const shown = at < 0 || domain === '' ? kept : `${kept.slice(0, at)}@${domain}`;
  return [...new Set([email, kept, shown, kept.normalize('NFD'), shown.normalize('NFD')])];
}
