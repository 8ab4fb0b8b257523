import { checkFresh } from '../../kernel/mount/access.ts';
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { contract, freshSecondsOfUse } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/http/context.ts';
import { runTerminal } from '../../kernel/http/sockets.terminal.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkReach, type Environments, type Reach, type Wanted } from '../environments/index.ts';
import type { Attached } from './relay.attached.ts';
import { join } from './relay.join.ts';
import { mostBytes } from './relay.peers.ts';
import type { Streams } from './relay.streams.ts';
import { refusalWhileAway } from './relay.waking.ts';
import { targetOf } from './relay.tunnel.ts';
import { countBytes } from './relay.usage.ts';

/** Reaches a port, or opens a terminal. All that can be refused is refused before the WebSocket is there. */
export const attach = (streams: Streams, attached: Attached, environments: Environments): Operation =>
  operation(contract.relay.attach, async (context, { params: { id: environmentId }, query, headers }) => {
    const { accountId } = context.actor;
    const { kind, port = null } = query;
    if (kind === 'terminal') checkFresh(context.actor, context.clock.now(), freshSecondsOfUse);
    const wanted = { environmentId, accountId, port: kind === 'port' ? port : null };
    const reach = await checkReach(context.db, wanted);
    const clientId = headers['x-svc-client'] ?? randomUUID();
    const giveBack = streams.place(accountId, environmentId, clientId);
    let machine: Duplex | undefined;
    let leave = (): void => {};
    try {
      machine = await streams.open(environmentId, targetOf(query, reach)).catch(async (error: unknown) => {
        const visitor = { id: environmentId, accountId, by: context.by };
        throw (isAway(error) && (await refusalWhileAway(context.kernel, environments, visitor))) || error;
      });
      const over = machine;
      noteOpened(context, wanted, reach);
      const client = {
        ...wanted,
        isPublished: reach.isPublished,
        clientId,
        deviceId: context.deviceId,
        role: reach.role,
        kind,
      };
      leave = await attached.add(client, () => over.destroy());
      await (kind === 'terminal' ? runShell : runPort)(context, over);
    } finally {
      machine?.destroy();
      leave();
      giveBack();
    }
  });

const isAway = (error: unknown): boolean => error instanceof ApiError && error.code === 'daemon_offline';

/**
 * A line of the audit log; of many connections of a client to a port the first ones, and how many more there were. A terminal
 * on a machine of somebody else stands in the log of both.
 */
function noteOpened({ kernel, actor, by }: Context, { environmentId, port }: Wanted, { ownerId }: Reach): void {
  const action = port === null ? 'relay.terminal' : 'relay.forward';
  const details = { ...(port !== null && { port }) };
  const logs = port === null ? new Set([actor.accountId, ownerId]) : [actor.accountId];
  for (const accountId of logs) {
    const act = { accountId, by, action, subject: environmentId, details };
    kernel.audit.record(act, {
      as: `${action} ${environmentId} ${port} ${actor.credentialId}`,
      details: () => details,
    });
  }
}

async function runPort(context: Context, machine: Duplex): Promise<void> {
  const client = await context.openBytes({ mostBytes });
  if (!client) return;
  const bytes = countBytes(context);
  await join(client, machine, (some) => bytes.add(some));
  bytes.end();
}

async function runShell(context: Context, machine: Duplex): Promise<void> {
  const bytes = countBytes(context);
  await runTerminal(context, machine, { count: (some) => bytes.add(some) });
  bytes.end();
}
