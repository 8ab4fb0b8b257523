import { randomBytes } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import type { Db } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { hashOfId, recordOf } from './adapter.ts';
import { deleteProviderSessions, sealedRecords, takeSession, writeRecord } from './records.sql.ts';

/**
 * Ends the sessions of an account at the provider, and what is on its way to sign a browser in; that with this id goes on under
 * a new id, which is answered: a copy of its cookie in another browser is worth nothing any more.
 */
export async function endOtherSessions(
  tx: Db,
  { keyring }: Pick<Kernel, 'keyring'>,
  { accountId, id }: { accountId: string; id: string | undefined },
): Promise<{ id: string; seconds: number } | undefined> {
  const idHash = id === undefined ? undefined : hashOfId({ keyring }, 'Session', id);
  const kept = idHash && (await takeSession(tx, { accountId, idHash }));
  await deleteProviderSessions(tx, accountId);
  if (!kept) return undefined;
  const payload = JSON.parse(keyring.open(sealedRecords, kept.payload).toString()) as AdapterPayload;
  const renewed = randomBytes(32).toString('base64url');
  const session = { id: renewed, payload: { ...payload, jti: renewed }, expiresIn: kept.seconds };
  await writeRecord(tx, recordOf({ keyring }, 'Session', session));
  return { id: renewed, seconds: kept.seconds };
}
