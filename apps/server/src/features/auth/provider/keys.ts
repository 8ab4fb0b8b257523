import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'oidc-provider';
import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import {
  forgetSigningKeys,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  sealedSigningKeys,
  turnSigningKeys,
} from './keys.sql.ts';

/** Announced when the signing keys changed: each process publishes the new ones. */
export const signingKeysChanged = 'auth.signing_keys';

const newPair = promisify(generateKeyPair);

type Parts = Pick<Kernel, 'sql' | 'keyring'>;

/** The keys of this installation with their private parts, the one that signs first; makes the first two. */
export async function openSigningKeys(kernel: Parts): Promise<JWK[]> {
  let rows = await listSigningKeys(kernel.sql);
  if (rows.length === 0) {
    await inTransaction(kernel.sql, async (tx) => {
      await lockSigningKeys(tx);
      if ((await listSigningKeys(tx)).length > 0) return;
      await addKey(tx, kernel, true);
      await addKey(tx, kernel, false);
    });
    rows = await listSigningKeys(kernel.sql);
  }
  return rows.map(({ id, private_key: sealed }) => ({
    ...(JSON.parse(kernel.keyring.open(sealedSigningKeys, sealed).toString()) as JWK),
    kid: id,
    alg: 'ES256',
    use: 'sig',
  }));
}

/** Has the next key sign, and makes another next one; unless `force`, only when the one that signs is 90 days old. */
export async function rotateSigningKeys(
  kernel: Parts & Pick<Kernel, 'gateways'>,
  { force }: { force: boolean },
): Promise<boolean> {
  const isDone = await inTransaction(kernel.sql, async (tx) => {
    await lockSigningKeys(tx);
    await forgetSigningKeys(tx);
    const rows = await listSigningKeys(tx);
    const signing = rows.find(({ began_at, ended_at }) => began_at !== null && ended_at === null);
    const next = rows.find(({ began_at }) => began_at === null);
    if (!signing || !next || !(force || signing.is_old)) return false;
    await turnSigningKeys(tx, next.id);
    await addKey(tx, kernel, false);
    return true;
  });
  if (isDone) await kernel.gateways.announce(signingKeysChanged, null);
  return isDone;
}

async function addKey(tx: Db, { keyring }: Pick<Kernel, 'keyring'>, signs: boolean): Promise<void> {
  const { privateKey } = await newPair('ec', { namedCurve: 'P-256' });
  const jwk = privateKey.export({ format: 'jwk' });
  // Its public part names it: no two keys have one name.
  const id = keyring.mac('auth-key-id', `${jwk.x}.${jwk.y}`).toString('base64url').slice(0, 16);
  await insertSigningKey(tx, id, keyring.seal(sealedSigningKeys, Buffer.from(JSON.stringify(jwk))), signs);
}
