import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Keys derived from the master key, one per purpose, so that none can stand in for another. */
export interface Keyring {
  /** HMAC-SHA-256 under a key derived for `purpose`. */
  mac(purpose: string, data: string | Buffer): Buffer;
  /** AES-256-GCM; the answer holds nonce, tag and ciphertext. */
  seal(purpose: string, plain: Buffer): Buffer;
  /** Opens what `seal` made for the same purpose; throws when it was changed. */
  open(purpose: string, sealed: Buffer): Buffer;
}

const nonceBytes = 12;
const tagBytes = 16;

/** Derives the keyring of a master key (setting `SVC_MASTER_KEY`) with HKDF-SHA-256. */
export function createKeyring(masterKey: string): Keyring {
  const derived = new Map<string, Buffer>();
  const keyFor = (purpose: string): Buffer => {
    let key = derived.get(purpose);
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', masterKey, 'svc', purpose, 32));
      derived.set(purpose, key);
    }
    return key;
  };
  return {
    mac: (purpose, data) =>
      createHmac('sha256', keyFor(`mac:${purpose}`))
        .update(data)
        .digest(),
    seal(purpose, plain) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', keyFor(`seal:${purpose}`), nonce);
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    open(purpose, sealed) {
      const nonce = sealed.subarray(0, nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', keyFor(`seal:${purpose}`), nonce);
      decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
      return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]);
    },
  };
}
