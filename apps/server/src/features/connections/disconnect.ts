import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import type { Connections } from './connections.store.ts';

export const disconnect = (connections: Connections) =>
  operation(contract.connections.disconnect, async ({ actor, by }, { params: { id } }) => {
    const { keys, takenBack } = await connections.end(actor.accountId, id, by);
    return { deleted: true as const, id, keys_revoked: keys, taken_back: takenBack };
  });
