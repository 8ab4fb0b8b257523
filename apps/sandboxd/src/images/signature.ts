import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

/** The part of an archive's header that is signed: what the image is, and the digest of its content. */
interface Signed {
  template: string;
  recipe: string;
  built_at: string;
  digest: string;
  bytes: number;
}

/** A public key as people copy it: `ed25519:` and its 32 bytes in base64url. */
const publicForm = /^ed25519:([A-Za-z0-9_-]{43})$/;

/** What is signed means nothing in another place: it begins with a name of its own. */
const textOf = ({ template, recipe, built_at, digest, bytes }: Signed): Buffer =>
  Buffer.from(`svc image 1\n${JSON.stringify([template, recipe, built_at, digest, bytes])}`);

/** Makes a key to sign images with, in a file that is not there yet and that its owner alone can read; answers the public key. */
export function newSigningKey(file: string): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new Error(`${file} is there already; name another file`, { cause: error });
    throw new Error(`cannot write ${file}: ${code ?? 'unknown'}`, { cause: error });
  }
  return publicKeyOf(privateKey);
}

/** Reads a key that `newSigningKey` made, or any other private key of Ed25519 in PEM. Throws a sentence. */
export function readSigningKey(file: string): KeyObject {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`, { cause: error });
  }
  try {
    const key = createPrivateKey(text);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // What OpenSSL says of it helps nobody, and might quote it.
  }
  throw new Error(`${file} is no key that signs images; make one with svc images new-key <file>`);
}

/** The public key of a private one, as people copy it. */
export function publicKeyOf(key: KeyObject): string {
  return `ed25519:${createPublicKey(key).export({ format: 'jwk' }).x}`;
}

/** Reads a public key as people copy it. Throws a sentence. */
export function readPublicKey(text: string): KeyObject {
  const x = publicForm.exec(text)?.[1];
  if (x === undefined) {
    throw new Error('the public key is ed25519: and 43 characters, as svc images new-key prints it');
  }
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

/** The signature of a header in base64url. */
export function signHeader(header: Signed, key: KeyObject): string {
  return sign(null, textOf(header), key).toString('base64url');
}

/** Whether this key signed this header. */
export function isSignedBy(header: Signed & { signature?: string | undefined }, key: KeyObject): boolean {
  const { signature } = header;
  return signature !== undefined && verify(null, textOf(header), key, Buffer.from(signature, 'base64url'));
}
