import { type CredentialChange, credentialsChanged } from '../../kernel/http/access.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { ApiError, notFound } from '../../kernel/http/errors.ts';
import { type KeyChange, type KeyRow, lockKey, updateKey } from './keys.sql.ts';

/**
 * Changes a key and answers once every live gateway has forgotten what it knew: what the change takes away is refused on
 * the next request, everywhere. A revoked key stays revoked. `check` may refuse by throwing, given the key as it is.
 */
export async function changeKey(
  kernel: Pick<Kernel, 'sql' | 'gateways'>,
  accountId: string,
  id: string,
  change: KeyChange,
  check: (current: KeyRow) => void = () => {},
): Promise<KeyRow> {
  const row = await inTransaction(kernel.sql, async (tx) => {
    const current = await lockKey(tx, accountId, id);
    if (!current) throw notFound('key');
    check(current);
    if (current.status === 'revoked') {
      if (change.status === 'revoked') return current;
      throw new ApiError('key_revoked', 'a revoked key cannot be changed; create a new one');
    }
    await updateKey(tx, id, change);
    return { ...current, ...change };
  });
  const { name: _, ...rights } = change;
  const whose: CredentialChange = { keyId: id };
  // A name is remembered nowhere.
  if (Object.keys(rights).length > 0) await kernel.gateways.announce(credentialsChanged, whose);
  return row;
}
