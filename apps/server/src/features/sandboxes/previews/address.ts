import { createHash, randomBytes } from 'node:crypto';
import type { Config } from '../../../config.ts';
import { type AskedName, isThisMachine } from '../../../kernel/forwarder/names.ts';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
/** 130 bits; a DNS label has room for 63 characters and does not tell upper from lower case. */
const length = 26;

/** A fresh token. */
export function createToken(): string {
  return Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('');
}

const isToken = (text: string): boolean => /^[a-z2-7]{26}$/.test(text);

/** Under which a token is stored. */
export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Addresses to listen on at which `<token>.localhost` is reached. */
const isReachedAsLocalhost = (host: string): boolean => ['127.0.0.1', '::1', 'localhost'].includes(host);
const isEveryAddress = (host: string): boolean => ['0.0.0.0', '::'].includes(host);

const needsDomain =
  'previews are for this machine only until SVC_PREVIEW_DOMAIN is set: a domain with a wildcard DNS record, and a proxy ' +
  'with its certificate in front of the preview port';

/**
 * The address that a caller gets, or what is missing. With callers on other machines it is a domain: `<token>.localhost`
 * would be their own machine, and an address of this one would be one origin for all previews.
 */
export function previewUrl(
  config: Pick<Config, 'previewDomain' | 'host' | 'baseUrl' | 'baseUrlIsSet'>,
  { port, token, listens }: { port: number; token: string; listens: number | undefined },
): string | { missing: string } {
  const { previewDomain, host, baseUrl, baseUrlIsSet } = config;
  if (previewDomain !== undefined) return `https://${port}-${token}.${previewDomain}/`;
  // The base address says where clients are: the gateway of a container listens on every address.
  const isNear = baseUrlIsSet ? isThisMachine(new URL(baseUrl).hostname) : !isEveryAddress(host);
  if (!isNear || !(isReachedAsLocalhost(host) || isEveryAddress(host))) return { missing: needsDomain };
  if (listens === undefined) return { missing: 'previews have no port here; set SVC_PREVIEW_PORT to a free one' };
  return `http://${token}.localhost:${listens}/`;
}

/** The token in a name, and with a domain the port; undefined when the name is no preview's. */
export function tokenOf({ label, by }: AskedName): { token: string; port?: number } | undefined {
  if (by !== 'domain') return isToken(label) ? { token: label } : undefined;
  const [, port, token] = /^(\d{1,5})-([a-z2-7]{26})$/.exec(label) ?? [];
  return token === undefined ? undefined : { token, port: Number(port) };
}
