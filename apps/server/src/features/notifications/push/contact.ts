import { isIP } from 'node:net';
import type { Config } from '../../../config.ts';

/** Names that nobody outside of a network knows. */
const localNames = /(?:^|\.)(?:localhost|local|lan|internal|intranet|home|private|arpa|localdomain)$/i;

/**
 * Whether a host may be somebody's on the internet: a name with a dot, and none of those that networks use for
 * themselves.
 */
const isPublicName = (host: string): boolean =>
  isIP(host.replace(/^\[|\]$/g, '')) === 0 && host.includes('.') && !localNames.test(host);

const publicMail = (address: string | undefined): string | undefined =>
  address !== undefined && isPublicName(address.slice(address.lastIndexOf('@') + 1)) ? `mailto:${address}` : undefined;

/**
 * Whom a push service may write to (RFC 8292, 2.1): what the operator set, the sender of e-mail, the address of the
 * platform itself, or that of who set it up. Never a local name, which Apple refuses with 403; undefined: there is
 * none.
 */
export function contactOf(
  { pushContact, mailFrom, baseUrl }: Pick<Config, 'pushContact' | 'mailFrom' | 'baseUrl'>,
  operator: string | undefined,
): string | undefined {
  if (pushContact !== undefined) return pushContact;
  const { protocol, hostname } = new URL(baseUrl);
  const sender = mailFrom === undefined ? undefined : (/<([^<>]+)>$/.exec(mailFrom)?.[1] ?? mailFrom);
  return (
    publicMail(sender) ??
    (protocol === 'https:' && isPublicName(hostname) ? new URL(baseUrl).origin : undefined) ??
    publicMail(operator)
  );
}

/** Whether a push service takes nothing without a contact: Apple's answers 403 BadJwtToken. */
export const needsContact = (endpoint: string): boolean =>
  /(?:^|\.)push\.apple\.com\.?$/i.test(new URL(endpoint).hostname);
