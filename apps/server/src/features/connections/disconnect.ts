import { contract } from '@svc/contract';
import { type Actor, isOwner } from '../../kernel/base/actor.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import { operation } from '../../kernel/feature.ts';
import { scopesOfConnection, scopesWithin } from '../keys/index.ts';
import type { Connections } from './connections.store.ts';

export const disconnect = (connections: Connections) =>
  operation(contract.connections.disconnect, async ({ actor, by }, { params: { id } }) => {
    const check = (tx: Db): Promise<void> => checkMayEnd(tx, actor, id);
    const { keys, takenBack } = await connections.end(actor.accountId, id, { by, check });
    return { deleted: true as const, id, keys_revoked: keys, taken_back: takenBack };
  });

/** As for the keys that end with it: a key, or an app, ends no app that may do more than itself. Throws 403. */
async function checkMayEnd(tx: Db, actor: Actor, id: string): Promise<void> {
  if (isOwner(actor) || actor.connectionId === id) return;
  if (scopesWithin(await scopesOfConnection(tx, id), actor.scopes, actor.connectionId !== undefined)) return;
  const message = 'this key may do less than the app that it would disconnect; use a key that may do as much';
  throw new ApiError('forbidden', message);
}
