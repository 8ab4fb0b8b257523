import { isIP } from 'node:net';
import { isPublicAddress } from './address.ts';
import { refused } from './error.ts';

/** Rules of the operator (settings `SVC_FETCH_ALLOW_HOSTS` and `SVC_FETCH_PORTS`). */
export interface OutboundRules {
  readonly fetchAllowHosts: readonly string[];
  readonly fetchPorts: readonly number[];
}

/** A URL that may be asked, as far as its text tells. */
export interface Target {
  readonly url: URL;
  /** Without brackets and without the dot of the root. */
  readonly host: string;
  readonly port: number;
  readonly isLiteral: boolean;
  /** The operator named this host: its addresses are not judged. */
  readonly isAllowedHost: boolean;
}

/** Names that mean this machine or this network; sub-names of the last three do too. */
const blockedNames = ['localhost', 'internal', 'local'];

/**
 * Judges a URL before any name is asked for: scheme, port, no userinfo, blocked names, IP literals. The URL class has
 * brought decimal, octal and hexadecimal addresses, full-width digits and other dots into their one spelling by then.
 * Throws a refusal.
 */
export function checkUrl(text: string, rules: OutboundRules, protocols: readonly string[]): Target {
  if (!URL.canParse(text)) throw refused('not a URL');
  const url = new URL(text);
  if (!protocols.includes(url.protocol)) throw refused('scheme');
  if (url.username !== '' || url.password !== '') throw refused('userinfo');
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  if (!rules.fetchPorts.includes(port)) throw refused('port');
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const isLiteral = isIP(host) !== 0;
  const isAllowedHost = isAllowed(url, rules);
  if (!isAllowedHost && (isLiteral ? !isPublicAddress(host) : isBlockedName(host))) throw refused('host');
  return { url, host, port, isLiteral, isAllowedHost };
}

/** Whether the operator named the host of a URL. */
export const isAllowed = ({ hostname }: URL, { fetchAllowHosts }: Pick<OutboundRules, 'fetchAllowHosts'>): boolean =>
  fetchAllowHosts.some((allowed) => hostOf(allowed) === hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''));

/** The operator's spelling of a host, as the URL class spells it. */
function hostOf(allowed: string): string {
  const text = `http://${isIP(allowed) === 6 ? `[${allowed}]` : allowed}`;
  return URL.canParse(text) ? new URL(text).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') : allowed;
}

/** A name that never belongs to the public: of this machine, of a private network, or without a dot. */
export function isBlockedName(host: string): boolean {
  const labels = host.split('.');
  return labels.length < 2 || labels.includes('') || blockedNames.includes(labels.at(-1) as string);
}
