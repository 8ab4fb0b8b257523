import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import { runTerminal } from '../../kernel/http/sockets.terminal.ts';
import { checkDaily, checkPaid, endSpan, insertSpan } from '../metering/index.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { runningSandbox } from './sandboxes.running.ts';
import { nextGeneration, type SandboxRow } from './sandboxes.sql.ts';

/** A terminal is counted minute by minute, ahead: a gateway that dies leaves nothing that counts on. */
const minuteMs = 60_000;

/** Opens a login shell. All that can be refused is refused before the WebSocket is there. */
export const terminal = (nodes: Nodes): Operation =>
  operation(contract.sandboxes.terminal, async (context, { params: { id }, query }) => {
    const { kernel, actor, by, clock } = context;
    const { accountId } = actor;
    const { row, node, audit } = await runningSandbox(context, nodes, id);
    await checkMinute(context, row);
    const machine: Duplex = await node.terminal(id, query).catch((error: unknown) => {
      throw toApiFailure(error);
    });
    machine.on('error', () => {});
    const began = clock.monotonic();
    try {
      await audit('terminal');
      await payMinute(context, row);
      let bytes = 0;
      const count = (more: number): void => {
        bytes += more;
      };
      await runTerminal(context, machine, {
        count,
        begin: ({ end }) =>
          clock.every(minuteMs, () => {
            payMinute(context, row).catch((error: unknown) => {
              if (error instanceof ApiError) end(1008, error.message);
              else kernel.log.warn({ err: error }, 'a minute of a terminal is not counted');
            });
          }),
      });
      const seconds = Math.round((clock.monotonic() - began) / 1000);
      const told = { accountId, by, sandboxId: id, action: 'terminal_end', detail: { seconds, bytes } };
      // Whoever types changes files, or may have.
      await nextGeneration(kernel.sql, told);
    } finally {
      machine.destroy();
    }
  });

async function checkMinute({ kernel }: Context, { account_id: accountId }: SandboxRow): Promise<void> {
  await checkPaid(kernel, accountId);
  await checkDaily(kernel, accountId);
}

/** Counts the next minute as one of a command. Throws what refuses a command, too. */
async function payMinute(context: Context, row: SandboxRow): Promise<void> {
  await checkMinute(context, row);
  const { sql, clock } = context.kernel;
  const { account_id: accountId, id: sandboxId, backend } = row;
  const id = randomUUID();
  await insertSpan(sql, clock, { id, accountId, sandboxId, kind: `exec_${backend}` });
  await endSpan(sql, clock, id, minuteMs);
}
