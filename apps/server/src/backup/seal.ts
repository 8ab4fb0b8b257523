import { argon2Sync, createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { CommandError } from '../kernel/base/command-error.ts';

/**
 * How a passphrase became a key: argon2id (RFC 9106, section 4, its second recommendation: 64 MiB, three passes). A file that
 * asks for more than 1 GiB is refused.
 */
export const derivation = z.object({
  kdf: z.literal('argon2id'),
  salt: z.base64url().max(64),
  memory_kib: z.int().min(8_192).max(1_048_576),
  passes: z.int().min(1).max(20),
  /** Opens only with the right passphrase, before anything else is tried. */
  check: z.base64url().max(128),
});
type Derivation = z.output<typeof derivation>;

/** Seals what a backup keeps secret, and signs its manifest. */
export interface Seal {
  readonly derivation: Derivation;
  seal(name: string, plain: Buffer): Buffer;
  /** Throws `CommandError` for what this passphrase did not seal under this name. */
  open(name: string, sealed: Buffer): Buffer;
  sign(manifest: Buffer): string;
}

const nonceBytes = 12;
const tagBytes = 16;
const checkText = Buffer.from('svc backup');

/** A new seal. */
export function newSeal(passphrase: string): Seal {
  const how = { kdf: 'argon2id', salt: randomBytes(16).toString('base64url'), memory_kib: 65_536, passes: 3 } as const;
  const parts = partsOf(passphrase, how);
  return { ...parts, derivation: { ...how, check: parts.seal('check', checkText).toString('base64url') } };
}

/** The seal of a file. Throws `CommandError` for another passphrase. */
export function openSeal(passphrase: string, how: Derivation): Seal {
  const parts = partsOf(passphrase, how);
  try {
    parts.open('check', Buffer.from(how.check, 'base64url'));
  } catch {
    throw new CommandError('the passphrase is not that of this file (SVC_BACKUP_PASSPHRASE)');
  }
  return { ...parts, derivation: how };
}

function partsOf(passphrase: string, { salt, memory_kib: memory, passes }: Omit<Derivation, 'check'>) {
  const nonce = Buffer.from(salt, 'base64url');
  const root = argon2Sync('argon2id', { message: passphrase, nonce, parallelism: 1, tagLength: 32, memory, passes });
  const [sealing, signing] = ['seal', 'sign'].map((use) => Buffer.from(hkdfSync('sha256', root, nonce, use, 32)));
  if (!sealing || !signing) throw new Error('no key was derived');
  return {
    seal(name: string, plain: Buffer): Buffer {
      const iv = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', sealing, iv).setAAD(Buffer.from(name));
      return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(name: string, sealed: Buffer): Buffer {
      const [iv, tag] = [sealed.subarray(0, nonceBytes), sealed.subarray(-tagBytes)];
      try {
        const decipher = createDecipheriv('aes-256-gcm', sealing, iv).setAAD(Buffer.from(name)).setAuthTag(tag);
        return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]);
      } catch {
        throw new CommandError(`${name} in the file was changed since it was sealed`);
      }
    },
    sign: (manifest: Buffer): string => createHmac('sha256', signing).update(manifest).digest('base64url'),
  };
}
