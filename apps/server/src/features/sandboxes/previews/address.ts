import { createHash, randomBytes } from 'node:crypto';
import { type AddressConfig, addressOf, type AskedName } from '../../../kernel/forwarder/names.ts';

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

/** The address that a caller gets, or what is missing. */
export const previewUrl = (
  config: AddressConfig,
  { port, token, listens }: { port: number; token: string; listens: number | undefined },
): string | { missing: string } => addressOf(config, { onDomain: `${port}-${token}`, onThisMachine: token, listens });

/** The token in a name, and with a domain the port; undefined when the name is no preview's. */
export function tokenOf({ label, by }: AskedName): { token: string; port?: number } | undefined {
  if (by !== 'domain') return isToken(label) ? { token: label } : undefined;
  const [, port, token] = /^(\d{1,5})-([a-z2-7]{26})$/.exec(label) ?? [];
  return token === undefined ? undefined : { token, port: Number(port) };
}
