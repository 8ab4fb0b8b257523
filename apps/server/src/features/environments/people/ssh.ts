import { createPublicKey } from 'node:crypto';
import { badRequest } from '../../../kernel/base/errors.ts';

const curves = ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'];
const types = new Set(['ssh-ed25519', 'ssh-rsa', ...curves]);
const leastRsaBits = 2_048;
const mostRsaBits = 16_384;

/** An SSH key as `authorized_keys` takes it, without its comment. Throws 400 for what is none, or a weak one. */
export function sshKeyOf(text: string): string {
  const refuse = (message: string) => badRequest(`public_key: ${message}`, { public_key: [message] });
  const line = text.trim();
  if (/[\r\n\u0085\u2028\u2029]/.test(line)) throw refuse('must be one key in one line');
  const [type = '', encoded = ''] = line.split(/[ \t]+/, 2);
  if (!types.has(type)) throw refuse('must begin with ssh-ed25519, ecdsa-sha2-nistp256, -384, -521 or ssh-rsa');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0) throw refuse('its second part is no base64');
  const parts = partsOf(Buffer.from(encoded, 'base64'));
  if (parts?.[0]?.toString('latin1') !== type) throw refuse('is not the kind of key that it says');
  if (!isWhole(type, parts)) throw refuse('is damaged');
  if (type === 'ssh-rsa') {
    const bits = bitsOf(parts[2] as Buffer);
    if (bits < leastRsaBits || bits > mostRsaBits) throw refuse('an RSA key has 2,048 to 16,384 bits');
  }
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
  if (type === 'ssh-rsa') return parts.length === 3 && isRsa(parts[1] as Buffer, parts[2] as Buffer);
  const curve = type.slice('ecdsa-sha2-'.length);
  const bytes = Math.ceil(Number(curve.slice('nistp'.length)) / 8);
  const point = parts[2];
  const isPoint = parts.length === 3 && parts[1]?.toString() === curve && point?.[0] === 4;
  return isPoint && point.length === 1 + 2 * bytes && isOnCurve(curve, point, bytes);
}

/** Both numbers are positive, and the exponent is an odd one of at least 3. */
function isRsa(exponent: Buffer, modulus: Buffer): boolean {
  const isPositive = (number: Buffer): boolean => number.length > 0 && (number[0] as number) < 0x80;
  if (!isPositive(exponent) || !isPositive(modulus) || exponent.length > 8) return false;
  const value = BigInt(`0x${exponent.toString('hex')}`);
  return value >= 3n && value % 2n === 1n && ((modulus.at(-1) as number) & 1) === 1;
}

function isOnCurve(curve: string, point: Buffer, bytes: number): boolean {
  const x = point.subarray(1, 1 + bytes).toString('base64url');
  const y = point.subarray(1 + bytes).toString('base64url');
  const crv = `P-${curve.slice('nistp'.length)}`;
  try {
    createPublicKey({ key: { kty: 'EC', crv, x, y }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

/** The length of an unsigned number, which may begin with a zero byte. */
function bitsOf(number: Buffer): number {
  const first = number.findIndex((byte) => byte !== 0);
  return first < 0 ? 0 : 8 * (number.length - first) - Math.clz32(number[first] as number) + 24;
}
