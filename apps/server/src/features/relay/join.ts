import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { join as joinStreams } from './relay.join.ts';
import { isOfPeer, mostBytes } from './relay.peers.ts';
import type { Streams } from './relay.streams.ts';
import { targetOf } from './relay.tunnel.ts';

/** The second half of a hop: a client of another relay reaches a daemon that hangs here. That one has looked at its rights. */
export const join = (streams: Streams): Operation =>
  operation(contract.relay.join, async (context, { params: { id }, query, headers }) => {
    const target = targetOf(query, { isPublished: query.published === '1', linuxUser: query.linux_user });
    if (!isOfPeer(context.kernel, id, target, headers['x-svc-relay-peer']))
      throw new ApiError('forbidden', 'this is for relays of this installation');
    const machine = await streams.openHere(id, target);
    try {
      const peer = await context.openBytes({ mostBytes });
      if (peer) await joinStreams(peer, machine);
    } finally {
      machine.destroy();
    }
  });
