import { badRequest } from '../../../kernel/base/errors.ts';

const curves = ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'];
const types = new Set(['ssh-ed25519', 'ssh-rsa', ...curves]);
const leastRsaBits = 2_048;

/** An SSH key as `authorized_keys` takes it, without its comment. Throws 400 for what is none, or a weak one. */
export function sshKeyOf(text: string): string {
  const refuse = (message: string) => badRequest(`public_key: ${message}`, { public_key: [message] });
  const line = text.trim();
  if (/[\r\n]/.test(line)) throw refuse('must be one key in one line');
  const [type = '', encoded = ''] = line.split(/[ \t]+/, 2);
  if (!types.has(type)) throw refuse('must begin with ssh-ed25519, ecdsa-sha2-nistp256, -384, -521 or ssh-rsa');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0) throw refuse('its second part is no base64');
  const parts = partsOf(Buffer.from(encoded, 'base64'));
  if (parts?.[0]?.toString('latin1') !== type) throw refuse('is not the kind of key that it says');
  if (!isWhole(type, parts)) throw refuse('is damaged');
  if (type === 'ssh-rsa' && bitsOf(parts[2] as Buffer) < leastRsaBits)
    throw refuse('an RSA key has 2,048 bits at least');
  return `${type} ${encoded}`;
}

/** The strings that the blob is made of, each after its length (RFC 4251); undefined when they do not fill it. */
function partsOf(blob: Buffer): Buffer[] | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  while (at + 4 <= blob.length) {
    const length = blob.readUInt32BE(at);
    if (at + 4 + length > blob.length) return undefined;
    parts.push(blob.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return at === blob.length ? parts : undefined;
}

function isWhole(type: string, parts: readonly Buffer[]): boolean {
  if (type === 'ssh-ed25519') return parts.length === 2 && parts[1]?.length === 32;
  if (type === 'ssh-rsa') return parts.length === 3;
  const curve = type.slice('ecdsa-sha2-'.length);
  const bytes = Math.ceil(Number(curve.slice('nistp'.length)) / 8);
  const point = parts[2];
  return parts.length === 3 && parts[1]?.toString() === curve && point?.[0] === 4 && point.length === 1 + 2 * bytes;
}

/** The length of an unsigned number, which may begin with a zero byte. */
function bitsOf(number: Buffer): number {
  const first = number.findIndex((byte) => byte !== 0);
  return first < 0 ? 0 : 8 * (number.length - first) - Math.clz32(number[first] as number) + 24;
}
