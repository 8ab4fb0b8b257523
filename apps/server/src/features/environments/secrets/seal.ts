import { randomBytes } from 'node:crypto';
import { type Sealed, sealUnder } from '../../../kernel/base/crypto.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { type SealedSecret, secretsOf } from './secrets.sql.ts';

/** The keys of secrets, one each: a rotation of the master key seals them anew and leaves the values. */
export const sealedDataKeys: Sealed = {
  purpose: 'environment-secrets',
  table: 'environments.secrets',
  column: 'data_key',
};
const keyBytes = 32;

/** Where a sealed value stands: at another place, or in another version, it does not open. */
interface Place {
  environmentId: string;
  name: string;
  version: number;
}

const boundOf = ({ environmentId, name, version }: Place): string => `${environmentId} ${name} ${version}`;

/** Seals a secret under a key of its own. */
export function sealSecret({ keyring }: Pick<Kernel, 'keyring'>, place: Place, value: string): SealedSecret {
  const key = randomBytes(keyBytes);
  const sealed = sealUnder(key, Buffer.from(value), boundOf(place));
  return { version: place.version, data_key: keyring.seal(sealedDataKeys, key), value: sealed };
}

/** Secrets that an environment may have. */
const mostSecrets = 200;

/** Throws 429 when a locked environment may have no further secret. */
export async function checkRoom(tx: Db, environmentId: string): Promise<void> {
  if ((await secretsOf(tx, environmentId)).length < mostSecrets) return;
  throw new ApiError('quota_exceeded', `an environment keeps at most ${mostSecrets} secrets; delete one first`);
}
