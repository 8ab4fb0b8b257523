import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import type { Connections } from './connections.store.ts';

export const disconnect = (connections: Connections) =>
  operation(contract.connections.disconnect, async ({ actor, by }, { params: { id } }) => ({
    deleted: true as const,
    id,
    keys_revoked: await connections.end(actor.accountId, id, by),
  }));
