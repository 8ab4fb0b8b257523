import type { Actor } from '../../../kernel/base/actor.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type Connections, touchConnection } from '../../connections/index.ts';
import type { KeyLookup } from '../../keys/index.ts';
import { hashOfId } from './adapter.ts';
import { sealedRecords } from './records.sql.ts';
import { findToken } from './tokens.sql.ts';
import { resourceOf } from './urls.ts';

/**
 * The app behind an access token for a resource; undefined for one that is unknown, over, revoked, or for another resource. It
 * asks the database each time: what is revoked is refused on the next request.
 */
export async function actorOfToken(
  { kernel, connections, lookup }: { kernel: Kernel; connections: Connections; lookup: KeyLookup },
  text: string,
  resource: 'api' | 'mcp',
): Promise<Actor | undefined> {
  const { sql, keyring, config, log } = kernel;
  const row = await findToken(sql, hashOfId(kernel, 'AccessToken', text));
  if (!row) return undefined;
  const payload = JSON.parse(keyring.open(sealedRecords, row.payload).toString()) as { aud?: string; scope?: string };
  if (payload.aud === undefined || resourceOf(config, payload.aud) !== resource) return undefined;
  const connection = await connections.of(row.account_id, row.client_id);
  const actor = connection && (await lookup.authenticateId(connection.key_id));
  if (!actor) return undefined;
  touchConnection(sql, connection.id).catch((err: unknown) =>
    log.warn({ err }, 'last use of a connection was not noted'),
  );
  const granted = new Set(actor.scopes);
  const scopes = (payload.scope ?? '').split(' ').filter((scope) => granted.has(scope));
  return { ...actor, scopes, expiresAt: row.expires_at, grantId: row.grant_id };
}
