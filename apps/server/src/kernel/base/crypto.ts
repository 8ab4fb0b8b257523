import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Sealed values of one purpose, and the column that keeps them: a rotation of the master key seals them anew. */
export interface Sealed {
  readonly purpose: string;
  /** `schema.table`. */
  readonly table: string;
  /** A bytea. */
  readonly column: string;
  /** Of its rows, where others hold something else: a condition in SQL. */
  readonly where?: string;
}

/** Keys derived from the master key, one per purpose, so that none can stand in for another. */
export interface Keyring {
  /** HMAC-SHA-256 under a key derived for `purpose`. */
  mac(purpose: string, data: string | Buffer): Buffer;
  /** AES-256-GCM; the answer holds nonce, tag and ciphertext. */
  seal(as: Pick<Sealed, 'purpose'>, plain: Buffer): Buffer;
  /** Opens what `seal` made for the same purpose; throws `BrokenSeal` when it was changed, or sealed with another key. */
  open(as: Pick<Sealed, 'purpose'>, sealed: Buffer): Buffer;
}

/** A sealed value that cannot be opened: it was changed, or another master key sealed it. */
export class BrokenSeal extends Error {
  override name = 'BrokenSeal';

  constructor(purpose: string) {
    super(`a sealed value (${purpose}) cannot be opened with this master key`);
  }
}

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Purposes of hashes that are kept for good and cannot be made again under another master key: those of API keys, of the
 * tokens and keys that ping and show monitors, and of the codes by which people sign in. Their texts are stored nowhere. A
 * rotation keeps the key that made them, sealed.
 */
const lasting = new Set([
  'mac:api-key',
  'mac:ping-token',
  'mac:ping-key',
  'mac:badge-token',
  'mac:recovery-code',
  'mac:mail-code',
  'mac:link-code',
  'mac:auth-record',
  'mac:auth-cookies',
]);

/**
 * Derives the keyring of a master key (setting `SVC_MASTER_KEY`) with HKDF-SHA-256. `firstKey`: the master key before all
 * rotations.
 */
export function createKeyring(masterKey: string, firstKey = masterKey): Keyring {
  const derived = new Map<string, Buffer>();
  const keyFor = (purpose: string): Buffer => {
    let key = derived.get(purpose);
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', lasting.has(purpose) ? firstKey : masterKey, 'svc', purpose, 32));
      derived.set(purpose, key);
    }
    return key;
  };
  return {
    mac: (purpose, data) =>
      createHmac('sha256', keyFor(`mac:${purpose}`))
        .update(data)
        .digest(),
    seal: ({ purpose }, plain) => sealUnder(keyFor(`seal:${purpose}`), plain),
    open: ({ purpose }, sealed) => openUnder(keyFor(`seal:${purpose}`), sealed, purpose),
  };
}

/** A key for what only they can open again who have a text: `salt` keeps its uses apart. */
export const keyOfText = (text: string, salt: string, use: string): Buffer =>
  Buffer.from(hkdfSync('sha256', text, salt, use, 32));

/**
 * AES-256-GCM; the answer holds nonce, tag and ciphertext. `bound`: says where the value stands, is kept nowhere, and must be
 * the same when it is opened, so that a value cannot be put in the place of another one.
 */
export function sealUnder(key: Buffer, plain: Buffer, bound = ''): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(bound));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Opens what `sealUnder` made with the same key and the same `bound`; throws `BrokenSeal`. */
export function openUnder(key: Buffer, sealed: Buffer, purpose: string, bound = ''): Buffer {
  if (sealed.length < nonceBytes + tagBytes) throw new BrokenSeal(purpose);
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce);
  decipher.setAAD(Buffer.from(bound));
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const plain = decipher.update(sealed.subarray(nonceBytes + tagBytes));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    throw new BrokenSeal(purpose);
  }
}
